"""How each provider wants to be asked and how it answers: one codec per wire, without any network of its own."""

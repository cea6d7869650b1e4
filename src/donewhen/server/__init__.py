"""What a program calls: the same verbs as a person types, as functions on plain data. No wire is known here."""

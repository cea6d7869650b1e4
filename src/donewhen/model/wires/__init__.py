"""Wire formats of the providers: one codec per wire for requests and answers, without network access."""

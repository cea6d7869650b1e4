"""What a person types. One file per verb, no logic: a verb parses, calls a room, prints, and sets the exit code."""

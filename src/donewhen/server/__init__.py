"""Program interface: the verbs of the command line as functions on plain data. It contains no network protocol."""

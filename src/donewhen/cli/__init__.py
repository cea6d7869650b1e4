"""Command line interface: one file per verb, without logic. A verb parses, calls other packages, prints, and exits."""

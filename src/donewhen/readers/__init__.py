"""What tools print, read into plain data: one pure reader per test runner.

Bytes in, a `Reading` out. Nothing is started, no file is opened and no other room is known here, so that every reader
can be tested exhaustively. Who ran the tool, and whether the reading is believed, is the judge's business.
"""

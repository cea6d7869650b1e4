"""What source text says about itself: does it parse, what does it declare, how do two changes of it go together.

Pure: text in, facts or text out. No file is opened here, no process started, and nothing is believed for long: what
this room finds is advice for a gate, which then runs the checks.
"""

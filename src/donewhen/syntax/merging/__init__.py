"""Two changes of one file put together: by lines first, and by what the lines mean where lines alone conflict.

What comes out is a proposal. It parses and it loses nothing that was declared, but whether it works, the checks say.
"""

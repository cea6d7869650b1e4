"""What repairs taught: failures recognised again by their signature. Text in, text out; acts on nothing."""

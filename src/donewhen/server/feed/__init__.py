"""What happens in all sessions, for subscribers: events once and in order, and who has to act next. Reads only."""

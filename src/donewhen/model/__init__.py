"""Any LLM: one turn in, one reply out. Text in, text out; nothing here touches files, processes or the judge."""

"""Prompts for an agent: the intent, the contract, the ground rules; on repair only, what the judge found."""

from donewhen.engines.interface import Job

RULES = """\
Ground rules:
- Work only in the current directory; nothing outside of it counts or is kept.
- Do not commit, push, tag, stash, switch branches or touch remotes. What is in the files at the end is your work.
- Run the checks yourself before you stop, and fix what they show. They are run again afterwards, by the runtime, \
on exactly the files you leave.
- Files that the contract protects are graded as they were at the start; edits to them do not count.
- {questions} When you have finished, say in a few words what you did, and stop."""
NO_PERSON = "No person is watching. Do not wait for confirmation."
MAY_ASK = "Do not wait for confirmation. What only a person can decide, ask with the tool ask_person, if you have it."


def first_prompt(job: Job) -> str:
    """Return the prompt for an agent that knows nothing yet."""
    contract = f"# Done when\n\n{job.contract.strip()}" if job.contract.strip() else ""
    if job.rules:  # a role of its own, such as a second agent that checks work
        parts = [job.rules.strip(), NO_PERSON, f"# Task\n\n{job.intent.strip()}", contract, job.feedback.strip()]
        return "\n\n".join(filter(None, parts)) + "\n"
    rules = RULES.format(questions=NO_PERSON if job.asker is None else MAY_ASK)
    parts = [f"# Task\n\n{job.intent.strip()}", contract, rules]
    if job.feedback:
        parts.append(
            "# What is there already\n\nEarlier work on this task is in the files. It was checked, and it is not done:"
            f"\n\n{job.feedback.strip()}"
        )
    if job.hint:
        parts.append(f"# Hint\n\n{job.hint.strip()}")
    return "\n\n".join(filter(None, parts)) + "\n"


def follow_up_prompt(job: Job) -> str:
    """Return the prompt for an agent that remembers the conversation with the rest of the task."""
    if job.rules:
        return f"{job.feedback.strip()}\n"
    parts = ["Your work was checked, and it is not done:", job.feedback.strip()]
    if job.hint:
        parts.append(f"Hint: {job.hint.strip()}")
    parts.append("Continue with the same task, under the same ground rules, until the checks pass.")
    return "\n\n".join(parts) + "\n"

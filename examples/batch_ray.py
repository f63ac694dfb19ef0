"""Replies of many conversations, parsed by Ray: one row a reply in, calls, errors and text out."""

import ray

import xmltools as xt
from xmltools.batch import BatchOptions, parse_dataset


def search(query: str, limit: int = 10) -> str:
    """Search the shop."""
    return ""


CALL = "I search.\n<tool><tool_name>search</tool_name><arguments>{}</arguments></tool>"
REPLIES = [
    CALL.format("<query>black tea</query><limit>3</limit>"),
    CALL.format("<query>cups & pots</query>"),
    CALL.format("<query>spoons</query><limit>many</limit>"),
    "There is nothing to search for.",
]


def main() -> None:
    """Parse the replies, and print what is in each."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    options = BatchOptions(column="reply", tools=(xt.Tool.of(search),))
    rows = ray.data.from_items([{"id": number, "reply": reply} for number, reply in enumerate(REPLIES)])
    for row in sorted(parse_dataset(rows, options).take_all(), key=lambda row: row["id"]):
        for call in row["calls"]:
            print(row["id"], call["name"], call["arguments"], "clean" if call["clean"] else call["repairs"])
        for error in row["errors"]:
            print(row["id"], error["code"], "|", error["message"])
        if not row["calls"] and not row["errors"]:
            print(row["id"], "text |", row["text"])
    ray.shutdown()


if __name__ == "__main__":
    main()

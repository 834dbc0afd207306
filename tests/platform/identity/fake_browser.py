"""A browser for tests: follows the page it is told to open through the provider, and back to the command line."""

import re
import sys
from urllib.parse import urljoin

import httpx2


def follow(address: str) -> None:
    with httpx2.Client(timeout=20) as client:
        for _ in range(20):
            answer = client.get(address)
            if answer.status_code in (302, 303):
                address = urljoin(address, answer.headers["location"])
                continue
            onward = re.search(r'url=([^"]+)"', answer.text)
            if onward is None:
                return
            address = onward[1].replace("&amp;", "&")


if __name__ == "__main__":
    follow(sys.argv[1])

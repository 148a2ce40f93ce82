// <lv-try>: sends the request that its form describes, with the session of whoever is signed in, and shows the answer as text.
// A request that changes something is shown first and sent on a second word; what is edited meanwhile takes the question away.
const LONGEST = 200_000; // characters of an answer that are shown

// One value; lines of JSON, as an export has them, are text.
const isJson = (answer) => /[/+]json\b/.test(answer.headers.get("Content-Type") ?? "");

// Laid out on lines of its own, every value as it came: parsing would round long numbers.
const indented = (body) => {
  const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g;
  let depth = 0;
  let laid = "";
  let opened = false;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of body.matchAll(TOKENS)) {
    if (token === "}" || token === "]") {
      depth -= 1;
      laid += opened ? token : line() + token;
      opened = false;
      continue;
    }
    laid += opened ? line() : "";
    opened = token === "{" || token === "[";
    depth += opened ? 1 : 0;
    laid += token === "," ? `,${line()}` : token === ":" ? ": " : token;
  }
  return laid;
};

const text = (answer, body) => {
  if (!body) {
    return "No body.";
  }
  const whole = isJson(answer) ? indented(body) : body;
  return whole.length > LONGEST ? `${whole.slice(0, LONGEST)}\n… ${(whole.length - LONGEST).toLocaleString("en")} more characters` : whole;
};

class Try extends HTMLElement {
  connectedCallback() {
    this.form = this.querySelector("form");
    this.question = this.querySelector(".lv-try-ask");
    this.hidden = false;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const asked = this.request();
      if (this.dataset.changes === "yes") {
        this.ask(asked);
      } else {
        this.send(asked);
      }
    });
    this.form.addEventListener("input", () => this.ask(null));
    this.question?.querySelector("[data-yes]").addEventListener("click", () => {
      const asked = this.request();
      this.ask(null);
      this.send(asked);
    });
    this.question?.querySelector("[data-no]").addEventListener("click", () => {
      this.ask(null);
      this.form.querySelector("[type=submit]").focus();
    });
  }

  // The request as the fields say it now.
  request() {
    const fields = [...this.form.querySelectorAll("[data-place]")];
    const query = new URLSearchParams();
    const headers = {};
    let address = this.dataset.address;
    let body;
    for (const field of fields) {
      const { place, several } = field.dataset;
      if (place === "path") {
        address = address.replace(`{${field.name}}`, encodeURIComponent(field.value));
      } else if (place === "body") {
        body = field.value;
      } else if (field.value !== "" && place === "header") {
        headers[field.name] = field.value;
      } else if (field.value !== "") {
        for (const value of several === undefined ? [field.value] : field.value.split(",")) {
          query.append(field.name, value.trim());
        }
      }
    }
    return { method: this.dataset.method, address: query.size ? `${address}?${query}` : address, headers, body };
  }

  // Shows what would be sent; takes it away again for null.
  ask(asked) {
    if (!this.question) {
      return;
    }
    this.question.hidden = asked === null;
    if (asked) {
      this.question.querySelector("[data-what]").textContent = `${asked.method} ${asked.address}${asked.body ? `\n\n${asked.body}` : ""}`;
      this.question.focus();
    }
  }

  async send({ method, address, headers, body }) {
    const token = this.form.querySelector("[name=csrfmiddlewaretoken]").value;
    const sent = { Accept: "application/json", ...headers };
    if (method !== "GET") {
      sent["X-CSRFToken"] = token;
    }
    if (body !== undefined) {
      sent["Content-Type"] = "application/json";
    }
    this.show("Waiting for the answer…", "", null);
    const began = performance.now();
    let answer;
    let received;
    try {
      answer = await fetch(address, { method, headers: sent, body, credentials: "same-origin", redirect: "error" });
      received = await answer.text();
    } catch (error) {
      this.show("No answer: the request wasn’t sent, or its answer was lost.", String(error), null);
      return;
    }
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    this.show(`${answer.status} ${answer.statusText} after ${seconds} s`, text(answer, received), this.next(answer, received));
  }

  // Where to go on: the answer of a read, or the page that asks for the password.
  next(answer, received) {
    if (answer.status === 401) {
      return { label: "Your session has ended: sign in again", href: location.href };
    }
    const told = isJson(answer) && received ? JSON.parse(received) : {};
    const own = (address) => address && new URL(address, location).origin === location.origin;
    if (answer.status === 403 && own(told.confirm_url)) {
      const query = new URLSearchParams({ next: location.pathname, for: told.purpose ?? "" });
      return { label: "Enter your password again, and come back", href: `${told.confirm_url}?${query}` };
    }
    if (answer.status === 202 && own(told.result_url)) {
      return { label: "Get the result", read: told.result_url };
    }
    return null;
  }

  show(status, body, next) {
    const place = this.querySelector(".lv-try-answer");
    const link = place.querySelector("[data-next]");
    place.hidden = false;
    place.querySelector("[role=status]").textContent = status;
    const pre = place.querySelector("pre");
    pre.textContent = body;
    pre.hidden = body === "";
    link.hidden = next === null;
    link.onclick = null;
    if (next) {
      link.textContent = next.label;
      link.href = next.read ?? next.href;
    }
    if (next?.read) {
      link.onclick = (event) => {
        event.preventDefault();
        this.send({ method: "GET", address: next.read, headers: {} });
      };
    }
  }
}

customElements.define("lv-try", Try);

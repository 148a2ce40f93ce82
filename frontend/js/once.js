// A form is sent once: of two quick clicks the second would be sent as well, and the page that it brings would say that there was nothing
// to do. After some seconds it may be sent again, for an answer that leaves the page where it is: a file.
const AGAIN_MS = 5000;
let sent = new WeakMap();

document.addEventListener("submit", (event) => {
  if (event.defaultPrevented || event.target.method !== "post") {
    return; // sent by htmx, which sees to it itself; or a question, which may be asked twice
  }
  const by = event.submitter ?? event.target;
  if (event.timeStamp - sent.get(by) < AGAIN_MS) {
    event.preventDefault();
  } else {
    sent.set(by, event.timeStamp);
  }
});

// Back on a page that the browser has kept.
window.addEventListener("pageshow", () => {
  sent = new WeakMap();
});

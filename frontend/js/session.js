// A session that ends under an open page leaves the page as it is, half-typed text too: the answer to each swap is then a notice in the
// banners' place, which is put there once and not at each poll.
import htmx from "htmx.org";

const person = document.getElementById("banners")?.dataset.person;

document.addEventListener("htmx:beforeSwap", (event) => {
  const isNotice = event.detail.xhr.getResponseHeader("HX-Retarget") === "#banners";
  if (!isNotice) {
    return;
  }
  document.getElementById("palette")?.close(); // it can find nothing, and would cover the notice
  if (document.getElementById("signed-out")) {
    event.detail.shouldSwap = false;
  } else if (event.detail.requestConfig.elt.id !== "banners") {
    htmx.trigger("#banners", "htmx:abort"); // what they asked themselves would be answered once they are gone, and find no target
  }
});

// Signed in again, in another tab, the same person's forms are good again: a new session has a new token. Another person's stay refused.
document.addEventListener("htmx:afterSettle", () => {
  const banners = document.getElementById("banners");
  if (banners?.dataset.token && banners.dataset.person === person) {
    document.querySelectorAll("input[name=csrfmiddlewaretoken]").forEach((field) => {
      field.value = banners.dataset.token;
    });
  }
});

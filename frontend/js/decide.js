// The keys a and r on a review open a question; only its answer decides, through the page's own form.
const dialog = document.getElementById("decide");
const comment = dialog?.querySelector("textarea");
const now = document.getElementById("decide-now");
let asked = "";

const button = () => document.querySelector(`#decision form [name=act][value=${asked}]`);

export function askFirst(act) {
  asked = act;
  const found = button();
  if (!dialog || !found) {
    // To approve, the password may be needed first: the link that leads there stands in the button's place.
    document.getElementById(act === "approve" ? "confirm" : "")?.focus();
    return;
  }
  dialog.querySelector("h2").textContent = dialog.dataset[act];
  comment.value = found.form.elements.comment.value;
  now.textContent = dialog.dataset[`${act}As`];
  now.classList.toggle("btn-danger", act === "reject");
  now.classList.toggle("btn-primary", act !== "reject");
  dialog.returnValue = "";
  dialog.showModal();
  comment.focus();
}

// Nothing is decided: says why, and leads to what comes first.
function notSent() {
  const confirm = asked === "approve" ? document.getElementById("confirm") : null;
  document.getElementById("announce").textContent = confirm ? dialog.dataset.confirm : dialog.dataset.changed;
  (confirm ?? document.getElementById("read-anew"))?.focus();
}

dialog?.addEventListener("close", () => {
  if (dialog.returnValue !== "yes") {
    return;
  }
  // The form is of the page as it is now: it, or its button, is gone if the request or the time has moved on meanwhile.
  const form = document.querySelector("#decision form");
  if (form) {
    form.elements.comment.value = comment.value;
  }
  const found = button();
  if (found) {
    form.elements.sure.value = "yes"; // asked here: the page that asks once more isn't needed
    form.requestSubmit(found);
    form.elements.sure.value = "";
  } else {
    notSent();
  }
});

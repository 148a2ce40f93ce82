// A press goes down and up again. A part of the page that is swapped in between would take the button away under the finger, and the
// click would be lost: the answer to a poll that comes in that moment is dropped, and the next one brings its news.
const LONGEST_MS = 3000; // a press whose end nobody hears of, behind a menu of the browser for example, holds up nothing for longer
let pressed = null;
let began = 0;

const isPolled = (element) => element.getAttribute("hx-trigger")?.includes("every ");
const isPress = (event) => event.button === 0 || event.key === " ";

for (const down of ["pointerdown", "keydown"]) {
  document.addEventListener(down, (event) => {
    if (isPress(event)) {
      pressed = event.target;
      began = event.timeStamp;
    }
  });
}
for (const up of ["pointerup", "pointercancel", "keyup"]) {
  document.addEventListener(up, () => {
    pressed = null;
  });
}

document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, requestConfig } = event.detail;
  const isHeld = pressed && performance.now() - began < LONGEST_MS;
  if (isHeld && target.contains(pressed) && isPolled(requestConfig.elt)) {
    event.detail.shouldSwap = false;
  }
});

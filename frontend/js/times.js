// Relative times grow old while a page is open: they are told anew, in the words of console/templatetags/formatting/times.py. Those of a
// month ago and more are dates, which stay.
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
const UNITS = [["s", 1, MINUTE], ["min", MINUTE, HOUR], ["h", HOUR, DAY]];
const STEP_MS = 5000;
// By the server's clock, whatever this machine's says.
const ahead = Number(document.documentElement.dataset.now) * 1000 - Date.now();

function passed(seconds) {
  for (const [unit, length, until] of UNITS) {
    if (seconds < until) {
      return `${Math.floor(seconds / length)} ${unit} ago`;
    }
  }
  return seconds < 2 * DAY ? "yesterday" : `${Math.floor(seconds / DAY)} days ago`;
}

function toCome(seconds) {
  for (const [unit, length, until] of UNITS) {
    const count = Math.ceil(seconds / length);
    if (count * length < until) {
      return `in ${count} ${unit}`;
    }
  }
  return seconds <= 1.5 * DAY ? "tomorrow" : `in ${Math.ceil(seconds / DAY)} days`;
}

export function ago(seconds) {
  if (Math.abs(seconds) < 1) {
    return "now";
  }
  return seconds > 0 ? passed(seconds) : toCome(-seconds);
}

const pair = (major, unit, minor, minorUnit) => (minor ? `${major} ${unit} ${minor} ${minorUnit}` : `${major} ${unit}`);

export function since(exactly) {
  const seconds = Math.max(Math.round(exactly), 0);
  if (seconds < MINUTE) {
    return `${seconds} s`;
  }
  if (seconds < HOUR) {
    return pair(Math.floor(seconds / MINUTE), "min", seconds % MINUTE, "s");
  }
  if (seconds < DAY) {
    return pair(Math.floor(seconds / HOUR), "h", Math.floor((seconds % HOUR) / MINUTE), "min");
  }
  const days = Math.floor(seconds / DAY);
  return pair(days, days === 1 ? "day" : "days", Math.floor((seconds % DAY) / HOUR), "h");
}

const SAYS = { ago, since };

function tellAnew() {
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const seconds = (Date.now() + ahead - Date.parse(time.dateTime)) / 1000;
    const { relative } = time.dataset;
    if (relative === "ago" && Math.abs(seconds) >= 30 * DAY) {
      continue;
    }
    const text = SAYS[relative](seconds);
    if (time.textContent !== text) {
      time.textContent = text;
    }
  }
}

setInterval(() => document.hidden || tellAnew(), STEP_MS);
document.addEventListener("visibilitychange", () => document.hidden || tellAnew());

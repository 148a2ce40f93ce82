// What pages need beyond plain links and forms. Each piece is optional: without it the page still works.
import "htmx.org";
import "./announce.js";
import "./copy.js";
import "./drop.js";
import "./keys.js";
import "./lists.js";
import "./live.js";
import "./log.js";
import "./narrow.js";
import "./once.js";
import "./press.js";
import "./session.js";
import "./statement.js";
import "./scroll.js";
import "./times.js";
import "./typed.js";


// Keeps the page up to date. Without it the page is whole, and as old as its last load.
(() => {
  "use strict";
  const body = document.body;
  const live = document.getElementById("live");
  const title = document.title;

  // Times in the reader's zone, and how long things take that are not over.
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const localise = (root) => {
    for (const time of root.querySelectorAll("time[datetime]")) {
      const at = new Date(time.dateTime);
      const isToday = at.toDateString() === new Date().toDateString();
      time.textContent = isToday ? clock.format(at) : day.format(at) + ", " + clock.format(at);
      time.title = full.format(at);
    }
  };
  const span = (ms) => {
    const s = Math.max(0, Math.floor(ms / 1000));
    const two = (number) => String(number).padStart(2, "0");
    if (s < 60) return s + " s";
    if (s < 3600) return Math.floor(s / 60) + " min " + two(s % 60) + " s";
    return Math.floor(s / 3600) + " h " + two(Math.floor(s / 60) % 60) + " min";
  };
  const tick = () => {
    const now = Date.now();
    for (const since of document.querySelectorAll("[data-since]")) {
      const text = "for " + span(now - since.dataset.since);
      if (since.textContent !== text) since.textContent = text;
    }
    for (const left of document.querySelectorAll("[data-until]")) {
      const ms = left.dataset.until - now;
      const words = ms < 60000 ? span(ms) : span(Math.ceil(ms / 60000) * 60000).replace(/ 00 s$/, "");
      left.textContent = " (" + words + " left)";
    }
  };
  const count = () => {
    const open = document.querySelectorAll("#questions form").length;
    document.title = open ? "(" + open + ") " + title : title;
  };

  // What a person has opened, written and chosen stays when an element is replaced by a newer one.
  const keep = (old, fresh) => {
    for (const details of fresh.querySelectorAll("details[id]")) {
      const before = document.getElementById(details.id);
      if (before) details.open = before.open;
    }
    for (const field of fresh.querySelectorAll("textarea[id]")) {
      const before = document.getElementById(field.id);
      if (before) field.value = before.value;
    }
    const active = document.activeElement;
    if (!old.contains(active)) return () => {};
    const all = (root) => [...root.querySelectorAll("a,button,summary,textarea,pre")];
    const at = all(old).indexOf(active);
    const marks = [active.selectionStart, active.selectionEnd];
    return () => {
      const next = (active.id && document.getElementById(active.id)) || all(fresh)[at];
      if (!next) return;
      next.focus({ preventScroll: true });
      if (next.setSelectionRange) next.setSelectionRange(marks[0], marks[1]);
    };
  };
  // The first element in sight stays where it is, whatever comes above it.
  const anchor = () => {
    if (scrollY === 0) return () => {};
    const inSight = (element) => element.getBoundingClientRect().bottom > 0;
    const first = [...document.querySelectorAll("main [id]")].find((e) => !e.querySelector("[id]") && inSight(e));
    if (!first) return () => {};
    const top = first.getBoundingClientRect().top;
    return () => {
      const now = document.getElementById(first.id);
      if (now) scrollBy(0, now.getBoundingClientRect().top - top);
    };
  };
  const apply = (region, news) => {
    const fresh = document.createElement("template");
    fresh.innerHTML = news.html;
    const hold = anchor();
    const focus = [];
    for (const element of [...fresh.content.children]) {
      localise(element);
      const old = document.getElementById(element.id);
      if (old) {
        focus.push(keep(old, element));
        old.replaceWith(element);
      } else {
        region.append(element);
      }
    }
    const wanted = new Set(news.order);
    for (const element of [...region.children]) if (!wanted.has(element.id)) element.remove();
    news.order.forEach((id, at) => {
      const element = document.getElementById(id);
      if (element && region.children[at] !== element) region.insertBefore(element, region.children[at] || null);
    });
    tick();
    count();
    hold();
    for (const restore of focus) restore();
  };

  let source = null;
  let state = body.dataset.state;
  let again = 0;
  const say = (words, isOff) => {
    if (live.textContent !== words) live.textContent = words;
    live.classList.toggle("off", isOff);
  };
  const close = () => {
    clearTimeout(again);
    if (source) source.close();
    source = null;
  };
  const follow = () => {
    close();
    const url = new URL(body.dataset.stream, location.href);
    url.searchParams.set("state", state);
    source = new EventSource(url);
    source.onopen = () => say("live", false);
    source.onerror = () => {
      say("not connected", true);
      if (source && source.readyState === EventSource.CLOSED) again = setTimeout(follow, 5000);
    };
    source.addEventListener("gone", () => {
      close();
      say("removed from the store", true);
    });
    for (const name of ["questions", "sessions", "head", "stages", "timeline", "older"]) {
      const region = document.getElementById(name);
      if (!region) continue;
      source.addEventListener(name, (event) => {
        apply(region, JSON.parse(event.data));
        if (event.lastEventId) state = event.lastEventId;
      });
    }
  };

  localise(document);
  tick();
  count();
  setInterval(tick, 1000);
  if (body.dataset.stream) {
    // A page that nobody sees needs no news, and browsers have few connections for each server.
    document.addEventListener("visibilitychange", () => (document.hidden ? close() : follow()));
    if (!document.hidden) follow();
  }
})();

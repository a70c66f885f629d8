"use strict";
// Sorting, finding, details and saving. All text is set as text, never as HTML.
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const $ = (id) => document.getElementById(id);
  const chart = $("chart"), list = chart.querySelector("ol"), body = $("table").tBodies[0];
  const bars = [...list.querySelectorAll("li[data-place]")], rows = [...body.rows];
  const BARS = bars.filter((bar) => !bar.classList.contains("tail")).length;
  const section = $("effects");
  document.documentElement.classList.add("js");
  let order = data.inputs.map((_, k) => k), key = "effect", down = true;

  document.querySelectorAll(".tools").forEach((tools) => { tools.hidden = false; });

  // Order ---------------------------------------------------------------------------------------
  const words = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  const bestRank = (k) => parseInt(data.inputs[k].ranks, 10) || Infinity;
  function compare(a, b) {
    if (key === "name" || key === "direction") return words.compare(data.inputs[a][key], data.inputs[b][key]);
    if (key === "ranks") return bestRank(a) - bestRank(b);
    const values = data.columns[key];
    return values[a] - values[b];
  }
  // What was not computed stands last whichever way the order goes.
  const lacks = (k) => key in data.columns && data.columns[key][k] === null;
  function arrange() {
    order = data.inputs.map((_, k) => k).sort((a, b) =>
      lacks(a) - lacks(b) || (down ? -1 : 1) * compare(a, b) || a - b);
    const others = $("others");
    list.append(...order.map((k) => bars[k]), ...(others ? [others] : []));
    body.append(...order.map((k) => rows[k]));
    order.forEach((k, place) => {
      bars[k].classList.toggle("tail", place >= BARS);
      rows[k].classList.toggle("tail", place >= BARS);
    });
    document.querySelectorAll("#table thead th").forEach((head) => {
      if (head.dataset.key === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    const select = $("sort");
    select.value = [...select.options].some((o) => o.value === key) ? key : "";
    others?.classList.toggle("out", key !== "effect" || !down);
    rove();
  }
  const startsDown = (name) => !["name", "direction", "ranks", "p_adjusted", "standard_error"].includes(name);
  $("sort").addEventListener("change", (event) => {
    key = event.target.value; down = startsDown(key); arrange();
  });
  document.querySelectorAll("#table thead th").forEach((head) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.title = head.title;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const name = head.dataset.key;
      down = name === key ? !down : startsDown(name);
      key = name; arrange();
    });
  });

  // Find ----------------------------------------------------------------------------------------
  const shown = (bar) => bar.offsetParent !== null;
  function find() {
    const wanted = $("filter").value.trim().toLocaleLowerCase();
    let found = 0;
    data.inputs.forEach((input, k) => {
      const names = [input.name, ...input.members];
      const fits = names.some((name) => name.toLocaleLowerCase().includes(wanted));
      bars[k].classList.toggle("out", !fits);
      rows[k].classList.toggle("out", !fits);
      found += fits;
    });
    section.classList.toggle("filtered", wanted !== "");
    section.classList.toggle("empty", found === 0);
    const some = found ? `${found} of ${data.inputs.length} inputs` : "No input has this in its name.";
    $("count").textContent = wanted ? some : "";
    rove();
  }
  $("filter").addEventListener("input", find);
  $("all")?.addEventListener("click", (event) => {
    const all = section.classList.toggle("all");
    event.target.setAttribute("aria-pressed", String(all));
    event.target.textContent = all ? `Show the first ${BARS}` : `Show all ${data.inputs.length}`;
    rove();
  });

  // One bar is in the order of tabs; arrows lead to the others. ----------------------------------
  const visible = () => order.map((k) => bars[k]).filter(shown).map((bar) => bar.firstElementChild);
  function rove(to) {
    const buttons = visible();
    const current = to || buttons.find((button) => button.tabIndex === 0) || buttons[0];
    bars.forEach((bar) => { bar.firstElementChild.tabIndex = -1; });
    if (current) current.tabIndex = 0;
  }
  list.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { hide(); return; }
    const buttons = visible(), at = buttons.indexOf(document.activeElement);
    const steps = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 };
    if (at < 0 || !(event.key in steps)) return;
    event.preventDefault();
    const next = buttons[Math.min(Math.max(steps[event.key], 0), buttons.length - 1)];
    rove(next);
    next.focus();
  });

  // Details -------------------------------------------------------------------------------------
  const tip = $("tip");
  const facts = [["effect", "effect"], ["share", "share of what is explained"],
    ["interval", "95\u202f% interval"], ["ranks", "rank"], ["p_value", "p"],
    ["first_order", "alone"], ["total", "irreplaceable"], ["direction", "direction"]];
  const short = (text, n) => (text.length <= n ? text : `${text.slice(0, n / 2)}…${text.slice(-n / 2)}`);
  const element = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });
  function show(button) {
    const input = data.inputs[Number(button.parentElement.dataset.place)];
    const name = element("strong", short(input.name, 300));
    name.dir = "auto";
    const table = document.createElement("dl");
    facts.filter(([field]) => input[field] !== "–").forEach(([field, text]) => {
      table.append(element("dt", text), element("dd", input[field]));
    });
    const members = input.members.length
      ? [element("div", `of: ${short(input.members.join(", "), 200)}`)] : [];
    const remark = input.remark ? [element("div", input.remark)] : [];
    tip.replaceChildren(name, table, ...remark, ...members);
    tip.hidden = false;
    button.setAttribute("aria-describedby", "tip");
    place(button.querySelector("svg").getBoundingClientRect());
  }
  function place(box) {
    const page = document.documentElement;
    const left = Math.min(box.left + 40, page.clientWidth - tip.offsetWidth - 8);
    const below = box.bottom + 6 + tip.offsetHeight < window.innerHeight;
    const top = below ? box.bottom + 6 : box.top - tip.offsetHeight - 6;
    tip.style.left = `${Math.max(left, 8) + window.scrollX}px`;
    tip.style.top = `${Math.max(top + window.scrollY, 0)}px`;
  }
  function hide() {
    tip.hidden = true;
    list.querySelectorAll("[aria-describedby]").forEach((b) => b.removeAttribute("aria-describedby"));
  }
  const over = (event) => event.target.closest?.(".bar");
  list.addEventListener("pointerover", (event) => { hide(); if (over(event)) show(over(event)); });
  list.addEventListener("pointerleave", hide);
  list.addEventListener("focusin", (event) => { hide(); if (over(event)) show(over(event)); });
  list.addEventListener("focusout", hide);
  list.addEventListener("click", (event) => { if (over(event)) show(over(event)); });

  // Save ----------------------------------------------------------------------------------------
  function save(text, kind, ending) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: kind }));
    link.download = `${data.target.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 60) || "y"}-effects.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  // Spreadsheets run what begins like a formula: an apostrophe makes it text.
  const safe = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  function csv() {
    const names = Object.keys(data.columns), directed = data.result.directions;
    const said = (input) => (directed ? [quoted(safe(input.direction === "–" ? "" : input.direction))] : []);
    const lines = data.inputs.map((input, k) => [quoted(safe(input.name)),
      ...names.map((name) => data.columns[name][k] ?? ""), ...said(input)].join(","));
    return [["input", ...names, ...(directed ? ["direction"] : [])].join(","), ...lines].join("\r\n") + "\r\n";
  }
  $("csv").addEventListener("click", () => save("\ufeff" + csv(), "text/csv;charset=utf-8", "csv"));
  $("json").addEventListener("click", () =>
    save(JSON.stringify(data.result, null, 1) + "\n", "application/json", "json"));
  $("copy")?.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText($("call").textContent);
      $("copied").textContent = "Copied.";
    } catch {
      getSelection().selectAllChildren($("call"));
      $("copied").textContent = "Selected: copy it with the keyboard.";
    }
  });

  // Light, dark, paper --------------------------------------------------------------------------
  const theme = $("theme"), root = document.documentElement;
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
  const name = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  theme.hidden = false;
  theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; name(); });
  prefersDark.addEventListener("change", name);
  name();
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    opened.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((details) => { details.open = false; }));
})();

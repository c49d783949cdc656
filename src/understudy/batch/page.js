"use strict";
const filter = document.getElementById("filter");
const rows = Array.from(document.querySelectorAll("#clips tbody tr"));
filter.addEventListener("input", function () {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every(function (word) { return text.includes(word); });
  }
});
document.addEventListener("click", function (event) {
  const text = event.target.dataset && event.target.dataset.copy;
  if (!text) return;
  const said = event.target.textContent;
  const tell = function (words) {
    event.target.textContent = words;
    setTimeout(function () { event.target.textContent = said; }, 1200);
  };
  // A page that was opened from a disk may not reach the clipboard: the command is then shown, to be selected.
  if (!navigator.clipboard) { window.prompt("", text); return; }
  navigator.clipboard.writeText(text).then(function () { tell("copied"); }, function () { window.prompt("", text); });
});

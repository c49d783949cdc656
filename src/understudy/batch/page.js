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
  const label = event.target.textContent;
  const showBriefly = function (message) {
    event.target.textContent = message;
    setTimeout(function () { event.target.textContent = label; }, 1200);
  };
  // A page opened from a disk may not access the clipboard. It then shows the command, to be copied by hand.
  if (!navigator.clipboard) { window.prompt("", text); return; }
  navigator.clipboard.writeText(text).then(function () { showBriefly("copied"); }, function () { window.prompt("", text); });
});

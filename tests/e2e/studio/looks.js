/* What is wrong with how the page looks: controls over each other or too small, text cut off or too faint to read. */
() => {
  /* What can be seen of an element, without what is scrolled out of sight in the parts that it is in. */
  const seen = (element) => {
    let { left, top, right, bottom } = element.getBoundingClientRect();
    for (let up = element.parentElement; up; up = up.parentElement) {
      if (getComputedStyle(up).overflow === "visible") continue;
      const box = up.getBoundingClientRect();
      [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
      [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
    }
    [right, bottom] = [Math.min(right, innerWidth), Math.min(bottom, innerHeight)];
    const shown = element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    return shown && right - left > 2 && bottom - top > 2 ? { left, top, right, bottom } : null;
  };
  const called = (element) =>
    element.dataset.testid || element.getAttribute("aria-label") || element.textContent.trim().slice(0, 40);

  const overlapping = () => {
    const controls = [...document.querySelectorAll("button, select, input, summary, [role=tab], [role=separator], .status")]
      .map((element) => ({ element, box: seen(element) }))
      .filter(({ box }) => box);
    const found = [];
    controls.forEach((a, number) => {
      for (const b of controls.slice(number + 1)) {
        const within = a.element.contains(b.element) || b.element.contains(a.element);
        // Neighbouring intervals of a track share their ends.
        const intervals = a.element.matches(".interval, .instant") && b.element.matches(".interval, .instant");
        const width = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
        const height = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
        if (width > 2 && height > 2 && !within && !intervals) found.push(`${called(a.element)} / ${called(b.element)}`);
      }
    });
    return found;
  };

  const cut = () => {
    const found = [...document.querySelectorAll("button, summary, label, th, td, p, h1, h2, h3, [role=tab]")]
      .filter((element) => seen(element) && !element.closest(".lane"))
      .filter((element) => {
        const { display, textOverflow } = getComputedStyle(element);
        return element.scrollWidth > element.clientWidth + 1 && display !== "inline" && textOverflow !== "ellipsis";
      })
      .map(called);
    const page = document.documentElement;
    if (page.scrollWidth > innerWidth || page.scrollHeight > innerHeight) found.push("the page itself");
    return found;
  };

  /* The contrast of text with what is behind it, by the formula of the WCAG; its level AA asks 4.5, of large text 3. */
  const faint = () => {
    const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const mixed = (colours) => {
      pen.clearRect(0, 0, 1, 1);
      for (const colour of colours) {
        pen.fillStyle = colour;
        pen.fillRect(0, 0, 1, 1);
      }
      return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
    };
    const luminance = (colour) => {
      const linear = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
    };
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode.data.trim();
      const element = walker.currentNode.parentElement;
      if (!text || element.closest(":disabled, .unseen, noscript, script, option") || !seen(element)) continue;
      const behind = [];
      for (let up = element; up; up = up.parentElement) behind.unshift(getComputedStyle(up).backgroundColor);
      const { color, fontSize } = getComputedStyle(element);
      const [a, b] = [luminance(mixed(behind)), luminance(mixed([...behind, color]))];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < (parseFloat(fontSize) >= 24 ? 3 : 4.5)) found.push(`${ratio.toFixed(2)} ${text.slice(0, 40)}`);
    }
    return found;
  };

  /* Controls that are smaller than 24 pixels in a direction. A box to tick is as large as the label that it is in. */
  const small = () =>
    [...document.querySelectorAll("button, select, input, summary, [role=tab], [role=slider]")]
      .filter((element) => seen(element) && !element.closest(".lane, .unseen"))
      .map((element) => ({ element, box: (element.closest("label") ?? element).getBoundingClientRect() }))
      .filter(({ box }) => box.width < 23.9 || box.height < 23.9)
      .map(({ element, box }) => `${Math.round(box.width)}x${Math.round(box.height)} ${called(element)}`);

  return { "too small": small(), "over each other": overlapping(), "cut off": cut(), "too faint": faint() };
}

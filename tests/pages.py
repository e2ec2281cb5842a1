"""The pages of `phibal report` and `phibal audit --html` in a browser, on a wide and a narrow window, light
and dark: nothing is wider than the window, no text of a picture lies over another or outside of it, every
text can be told from its background (4.5:1, WCAG 2 AA), and the screenshot has a drawing where each picture
stands. Pages with a fault planted in them must be refused.

usage: pages.py PHIBAL BROWSER SOURCE_ROOT
"""
import base64
import html
import json
import os
import re
import subprocess
import sys
import tempfile

phibal, browser, root = map(os.path.abspath, sys.argv[1:])
bad = 0

# Runs in the page; what it finds becomes the title.
PROBE = """<script>addEventListener('load', () => {
  const box = e => { const r = e.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
  const over = (a, b) => Math.min(Math.min(a[2], b[2]) - Math.max(a[0], b[0]),
                                  Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const light = c => c.map(v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
                      .reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
  const colour = text => { const v = (text.match(/[0-9.]+/g) || []).map(Number);
                           return v.length == 3 || v[3] == 1 ? v.slice(0, 3) : null; };
  const under = e => { for (; e; e = e.parentElement) {
    const c = colour(getComputedStyle(e).backgroundColor); if (c) return c; } return [255, 255, 255]; };
  const faint = [];
  for (const e of document.querySelectorAll('main *')) {
    if (![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    const ink = colour(e.closest('svg') ? style.fill : style.color) || [0, 0, 0];
    const [a, b] = [light(ink), light(under(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) faint.push(e.textContent.trim().slice(0, 40));
  }
  const pictures = [...document.querySelectorAll('svg')].map(svg => {
    const frame = box(svg), labels = [...svg.querySelectorAll('text')].filter(t => t.textContent.trim());
    const boxes = labels.map(box), wrong = [];
    /* The boxes of slanted texts overlap where the texts do not. */
    const slanted = labels.map(t => { const m = t.getScreenCTM(); return Math.abs(m.a * m.b) > 1e-3; });
    boxes.forEach((a, i) => {
      if (a[0] < frame[0] - 1 || a[1] < frame[1] - 1 || a[2] > frame[2] + 1 || a[3] > frame[3] + 1)
        wrong.push('outside: ' + labels[i].textContent.trim());
      for (let j = 0; j < i; j++)
        if (!(slanted[i] && slanted[j]) && over(a, boxes[j]) > 1)
          wrong.push(labels[i].textContent.trim() + ' over ' + labels[j].textContent.trim());
    });
    return {frame, labels: labels.length, wrong};
  });
  const wide = [...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll *') &&
    e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName);
  document.title = JSON.stringify({width: document.documentElement.scrollWidth,
    height: document.documentElement.scrollHeight, wide, faint, pictures});
});</script></main>"""


def check(good, what):
    global bad
    bad += not good
    print("%s: %s" % ("ok" if good else "not ok", what))


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    if done.returncode:
        sys.exit("%s: exit status %d\n%s" % (" ".join(command), done.returncode, done.stderr))
    return done.stdout


def title(text):
    """The title of a page in which a script has left its findings there."""
    return json.loads(html.unescape(re.search("<title>(.*?)</title>", text).group(1)))


def browse(page, width, height, dark, picture=None):
    """The page's elements after its scripts; with `picture`, a screenshot instead."""
    return run(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
               "--blink-settings=preferredColorScheme=%d" % (0 if dark else 1), "--window-size=%d,%d" % (width, height),
               "--user-data-dir=" + os.path.join(folder, "profile"),
               "--screenshot=" + picture if picture else "--dump-dom", "file://" + page)


# Whether each frame of a screenshot has a drawing: 1 % of its pixels are not of the commonest colour, and
# 0.05 % have a hue (three points have 0.1 %), which axes and labels without data have not.
LOOK = """<title></title><img src="data:image/png;base64,%s"><script>addEventListener('load', () => {
  const image = document.querySelector('img'), canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
  const to = canvas.getContext('2d');
  to.drawImage(image, 0, 0);
  document.title = JSON.stringify(%s.map(([left, top, right, bottom]) => {
    const {data} = to.getImageData(left, top, right - left, bottom - top), seen = new Map();
    let hue = 0;
    for (let i = 0; i < data.length; i += 4) {
      const [r, g, b] = [data[i], data[i + 1], data[i + 2]], key = r << 16 | g << 8 | b;
      seen.set(key, (seen.get(key) || 0) + 1);
      hue += Math.max(r, g, b) - Math.min(r, g, b) > 48;
    }
    const total = data.length / 4;
    return total - Math.max(...seen.values()) >= .01 * total && hue >= .0005 * total;
  }));
});</script>"""


def drawn(page, width, height, dark, frames):
    """Whether each of the frames [left, top, right, bottom] of a page's screenshot has a drawing."""
    shot, looking = os.path.join(folder, "shot.png"), os.path.join(folder, "looking.html")
    browse(page, width, height, dark, shot)
    with open(shot, "rb") as f:
        seen = base64.b64encode(f.read()).decode()
    with open(looking, "w", encoding="utf-8") as f:
        f.write(LOOK % (seen, json.dumps(frames)))
    return title(browse(looking, width, 900, dark))


def faults(page, width, dark, look):
    """What is wrong with a page, in words."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    probed = os.path.join(folder, "probed.html")
    with open(probed, "w", encoding="utf-8") as f:
        f.write(text.replace("</main>", PROBE))
    found = title(browse(probed, width, 900, dark))
    wrong = ["%d pixels wide" % found["width"]] if found["width"] > width else []
    wrong += ["wider than the window: " + e for e in found["wide"][:3]]
    wrong += ["hardly seen: " + e for e in found["faint"][:3]]
    for i, picture in enumerate(found["pictures"]):
        wrong += ["picture %d: %s" % (i, w) for w in picture["wrong"][:3]]
        if not picture["labels"]:
            wrong.append("picture %d has no labels" % i)
    if not found["pictures"]:
        wrong.append("no pictures")
    if look and found["pictures"]:
        seen = drawn(page, width, found["height"], dark, [p["frame"] for p in found["pictures"]])
        wrong += ["picture %d is empty" % i for i, good in enumerate(seen) if not good]
    return wrong


def planted(page, name, change):
    """A copy of a page with a fault."""
    with open(page, encoding="utf-8") as f:
        text = f.read()
    changed = change(text)
    assert changed != text, name
    path = os.path.join(folder, name.replace(" ", "-") + ".html")
    with open(path, "w", encoding="utf-8") as f:
        f.write(changed)
    return path


def first_picture(text, change):
    start, end = text.index("<svg"), text.index("</svg>")
    return text[:start] + change(text[start:end]) + text[end:]


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run(phibal, "data", "build", "--out", "data", "--document-bytes", "2048", "--domain", "page=" + os.path.join(root, "README.md"),
        "--domain", "specification=" + os.path.join(root, "spec/SPEC.md"))
    small = ["--config", "tiny", "--data", "data/train.tokens", "--validation", "data/validation.tokens", "--steps", "12",
             "--set", "model.width=32", "--set", "model.sequence=32", "--set", "model.head_width=16", "--set",
             "model.hidden=16", "--set", "evaluation.every=4", "--quiet"]
    run(phibal, "train", *small, "--out", "one")
    run(phibal, "train", *small, "--method", "switch", "--out", "two", "--set", "training.seed=2")
    run(phibal, "train", *small, "--out", "three", "--set", "training.seed=3")
    with open("sweep.yaml", "w", encoding="utf-8") as f:
        f.write("base: ./one/config.yaml\nout: swept\nseeds: [1, 2]\n"
                "grid: {balance.alpha: [0.01, 0.1], balance.eta: [0.5, 1]}\n")
    run(phibal, "sweep", "sweep.yaml", "--quiet")
    with open("cases.yaml", "w", encoding="utf-8") as f:
        f.write("base: ./one/config.yaml\nout: cases\ncases: [{name: soft-l1, balance.potential: soft-l1}, "
                "{name: negentropy}, {name: a case of some length, balance.method: none}]\n")
    run(phibal, "sweep", "cases.yaml", "--quiet")
    run(phibal, "report", "one", "two", "three", "--out", "runs.html", "--pictures", "pictures")
    run(phibal, "report", "swept", "--out", "sweep.html")
    run(phibal, "report", "cases", "--out", "cases.html")
    run(phibal, "audit", "--potential", "soft-l1", "--experts", "8..16", "--quick", "--skip",
        "convexity,legendre,gradient,conjugate", "--html", "audit.html")
    for page in "runs.html", "sweep.html", "cases.html", "audit.html":
        path = os.path.join(folder, page)
        for width, dark, look in (1280, False, True), (390, True, False):
            wrong = faults(path, width, dark, look)
            check(not wrong, "%s, %d pixels, %s%s" % (page, width, "dark" if dark else "light",
                                                      "".join("\n  " + w for w in wrong)))
    # Runs of one label are told apart in the legends.
    with open("runs.html", encoding="utf-8") as f:
        text = f.read()
    check(text.index(">one<", text.index("<svg")) > 0 and text.index(">three<", text.index("<svg")) > 0,
          "runs of one label bear their folders' names")

    picture = os.path.join(folder, "pictures/01-training-loss.svg")
    check(drawn(picture, 480, 320, True, [[0, 0, 480, 320]]) == [True], "a picture by itself, dark")

    runs = os.path.join(folder, "runs.html")
    for name, width, dark, look, change in (
            ("pictures that do not shrink", 390, False, False,
             lambda t: t.replace("</style>", "figure{min-width:24rem}</style>", 1)),
            ("black on black", 390, True, False, lambda t: t.replace("</style>", "svg text{fill:#000}</style>", 1)),
            ("labels over each other", 1280, False, False,
             lambda t: first_picture(t, lambda s: s.replace("</text>", "</text><text x='0' y='0'>step</text>"))),
            ("a label that is cut", 1280, False, False,
             lambda t: first_picture(t, lambda s: s + "<text x='-30' y='9'>lost</text>")),
            ("curves without a line", 1280, False, True,
             lambda t: first_picture(t, lambda s: re.sub(r"<path\b[^>]*/>", "", s, flags=re.S))),
            ("no pictures", 1280, False, False, lambda t: re.sub(r"<svg.*?</svg>", "", t, flags=re.S))):
        wrong = faults(planted(runs, name, change), width, dark, look)
        check(bool(wrong), "planted: %s: %s" % (name, "; ".join(wrong)[:120] or "not noticed"))
sys.exit(bad > 0)

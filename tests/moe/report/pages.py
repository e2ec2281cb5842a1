"""The pages of `phibal report` and `phibal audit --html` in a browser, on a wide and a narrow window, light
and dark: nothing is wider than the window, no text of a picture lies over another or outside of it, every
text can be told from its background (4.5:1, WCAG 2 AA), and the screenshot has a drawing where each picture
stands. What can be compared is: one axis or range of colours for one quantity, and one colour for one
value, in all pictures of a page; curves of few points bear marks. The page begins with what it has found,
its sections stand in order, and every row of its tables says what it means. Pages with a fault planted in
them must be refused.

usage: pages.py PHIBAL BROWSER SOURCE_ROOT
"""
import base64
import html
import json
import os
import re
import shutil
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
    /* Axes: their numbers, and what they are of. */
    const own = t => [...t.childNodes].filter(n => n.nodeName != 'title').map(n => n.textContent).join('').trim();
    const anchor = t => (t.closest('[text-anchor]') || t).getAttribute('text-anchor');
    const numeric = t => own(t) && isFinite(own(t)), turned = t => Math.abs(t.getScreenCTM().a) < 1e-3;
    const axis = labels.map(own), map = svg.classList.contains('map');
    const last = list => list.length ? list[list.length - 1] : null;
    const figure = svg.closest('figure');
    const name = labels.filter(turned).map(own)[0];
    return {frame, labels: labels.length, wrong, map,
      caption: figure ? figure.querySelector('figcaption').textContent : '',
      quantity: map ? last(axis) : name,
      across: map ? null : last(labels.filter(t => !turned(t) && !numeric(t) && anchor(t) == 'middle').map(own)),
      y: labels.filter(t => numeric(t) && anchor(t) == 'end' && !map).map(t => +own(t)),
      x: labels.filter(t => numeric(t) && anchor(t) == 'middle' && !map).map(t => +own(t)),
      legend: [...svg.querySelectorAll('.legend text')].map(t => +own(t)),
      cells: [...svg.querySelectorAll('rect > title')].map(e =>
        [+e.textContent.split(': ').pop(), getComputedStyle(e.parentElement).fill]),
      marks: [...svg.querySelectorAll('use')].filter(e => e.getClientRects().length &&
        getComputedStyle(e).visibility == 'visible').length};
  });
  /* What stands on the page, from top to bottom: the first class of what leads, headings, rows. */
  const outline = [...document.querySelector('main').children].map(e => e.tagName == 'H2' ? e.textContent :
    e.classList.length ? '.' + e.classList[0] : e.tagName);
  let heading = '';
  const rows = [];
  for (const e of document.querySelectorAll('main h2, main tbody tr')) {
    if (e.tagName == 'H2') { heading = e.textContent; continue; }
    if (e.cells.length == 1) continue; /* a heading inside a table */
    const meaning = [...e.querySelectorAll('td:first-child small')].map(s => s.textContent.trim()).join('');
    rows.push([heading, e.cells[0].textContent.trim().slice(0, 60), meaning,
               [...e.querySelectorAll('.badge')].map(b => b.textContent).join()]);
  }
  const notes = [...document.querySelectorAll('.notes')].map(e => (e.textContent.match(/^(\\*|\\[[0-9]+\\])/) || [''])[0])
    .filter(n => n);
  const marked = [...document.querySelectorAll('td')].map(e =>
    (e.textContent.match(/^[-+.e0-9]* ?(\\*|\\[[0-9]+\\])$/) || [, ''])[1]).filter(n => n);
  const advice = ([...document.querySelectorAll('.verdict')].pop() || document.body).textContent;
  const made = (document.querySelector('.made') || document.body).textContent;
  const verdict = (document.querySelector('.verdict') || document.body).textContent;
  const wide = [...document.querySelectorAll('main *')].filter(e => (!e.closest('.scroll *') || e.closest('.stack')) &&
    e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName);
  document.title = JSON.stringify({width: document.documentElement.scrollWidth,
    height: document.documentElement.scrollHeight, wide, faint, pictures, outline, rows, made, verdict, advice, notes, marked});
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


def same_scales(pictures):
    """Pictures that cannot be compared although they show one quantity."""
    wrong = []
    for side, of in ("y", "quantity"), ("x", "across"):
        for name in {p[of] for p in pictures if p[of] and not p["map"]}:
            axes = {tuple(p[side]) for p in pictures if p[of] == name and not p["map"]}
            if len(axes) > 1:
                wrong.append("axes of '%s' differ: %s" % (name, sorted(axes)[:2]))
    for name in {p["quantity"] for p in pictures if p["map"]}:
        maps = [p for p in pictures if p["map"] and p["quantity"] == name]
        if len({tuple(p["legend"]) for p in maps}) > 1:
            wrong.append("colours of '%s' have different ranges" % name)
        low, high = min(maps[0]["legend"]), max(maps[0]["legend"])
        for p in pictures:
            if p["quantity"] == name and not p["map"]:
                step = p["y"][1] - p["y"][0]
                if abs(min(p["y"]) - low) > 1.1 * abs(step) or abs(max(p["y"]) - high) > 1.1 * abs(step):
                    wrong.append("'%s' has axes from %g to %g and colours from %g to %g"
                                 % (name, min(p["y"]), max(p["y"]), low, high))
        # A colour belongs to an interval of values, whichever map it is in.
        fills, seen = [fill for _, fill in sorted(c for p in maps for c in p["cells"])], set()
        for i, fill in enumerate(fills):
            if i and fill != fills[i - 1] and fill in seen:
                wrong.append("a colour of '%s' stands for values far apart" % name)
                break
            seen.add(fill)
        if not fills:
            wrong.append("no cells in the maps of '%s'" % name)
    return wrong


def misplaced(found, want):
    """What is wrong with the page's words: order, marks of runs, explanations."""
    wrong, outline = [], found["outline"]
    leading = [e for e in outline if e not in ("H1", ".made")]
    if leading[:1] != [".verdict"]:
        wrong.append("begins with %s, not with the verdict" % leading[:1])
    headings = [h for h in outline if h[0] != "." and h in want["sections"]]
    if headings != want["sections"]:
        wrong.append("sections: %s" % headings)
    for heading in want["explained"]:
        rows = [r for r in found["rows"] if r[0] == heading]
        if not rows:
            wrong.append("no rows under '%s'" % heading)
        wrong += ["'%s' is not explained" % r[1] for r in rows if len(r[2].split()) < 3][:3]
    if not re.match(r"Made on 20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2} UTC by phibal [0-9.]+: phibal "
                    + want["made"], found["made"]):
        wrong.append("made: " + found["made"])
    for text in want["says"]:
        if text not in found["verdict"]:
            wrong.append("the verdict lacks '%s'" % text)
    if set(found["notes"]) != set(found["marked"]):
        wrong.append("notes %s for marks %s" % (found["notes"], found["marked"]))
    if want.get("notes") and want["notes"] not in found["notes"]:
        wrong.append("no note " + want["notes"])
    wrong += ["the advice lacks '%s'" % text for text in want.get("advises", []) if text not in found["advice"]]
    for name, state in want.get("states", {}).items():
        badges = [r[3] for r in found["rows"] if r[1].startswith(name)]
        if badges[:1] != [state]:
            wrong.append("'%s' is marked %s, not %s" % (name, badges[:1], state))
    for caption, marks in want.get("marks", {}).items():
        have = [p["marks"] for p in found["pictures"] if p["caption"].startswith(caption)]
        if have != [marks]:
            wrong.append("'%s' has %s marks, not %d" % (caption, have, marks))
    return wrong


def faults(page, width, dark, look, want):
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
    wrong += same_scales(found["pictures"]) + misplaced(found, want)
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


def picture(text, change, caption="", last=False):
    """The page with a change in its first, or last, picture of a caption."""
    begins = [m.start() for m in re.finditer("<svg", text)
              if text[text.index("<figcaption>", m.start()):].startswith("<figcaption>" + caption)]
    start = begins[-1 if last else 0]
    end = text.index("</svg>", start)
    return text[:start] + change(text[start:end]) + text[end:]


def between(text, start, end, change):
    """The page with a change from one text to the next other."""
    a = text.index(start)
    b = text.index(end, a)
    return text[:a] + change(text[a:b]) + text[b:]


def other_colours(svg):
    """A map whose colours are of a scale of its own."""
    fills = dict(re.findall(r'class="h(\d+)"[^>]*?fill="([^"]*)"', svg))
    other = lambda n: str(min(int(n) + 12, 36))
    return re.sub(r'class="h(\d+)"([^>]*?)fill="[^"]*"([^>]*)><title',
                  lambda m: 'class="h%s"%sfill="%s"%s><title' % (other(m[1]), m[2], fills[other(m[1])], m[3]), svg)


def verdict_of(certificate):
    """What the page has to begin and to end with, from the certificate as JSON."""
    with open(certificate, encoding="utf-8") as f:
        made = json.load(f)
    return ([made["verdict"], made["check"]["why"], "train with it?" + made["advice"]["train"]],
            ["Train with it: " + made["advice"]["train"]] + made["advice"]["reasons"])


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
    # Loads half as uneven as those of so short runs; one that has collapsed; one that was stopped after a step.
    shutil.copytree("one", "fallen")
    for name in "one", "two", "three", "fallen":
        with open(name + "/result.json", encoding="utf-8") as f:
            result = json.load(f)
        for layer in result["validation"]["layers"]:
            layer["frequency"] = [(v + 1 / 8) / 2 for v in layer["frequency"]]
            if name == "fallen":
                layer["frequency"] = [.5, .5, 0, 0, 0, 0, 0, 0]
            layer["maxvio_loads"] = 8 * max(layer["frequency"]) - 1
        with open(name + "/result.json", "w", encoding="utf-8") as f:
            json.dump(result, f)
    shutil.copytree("two", "stopped")
    os.remove("stopped/result.json")
    with open("two/metrics.jsonl", encoding="utf-8") as f, open("stopped/metrics.jsonl", "w", encoding="utf-8") as to:
        step = json.loads(next(line for line in f if '"type":"step"' in line))
        for layer in step["layers"]:
            layer["maxvio_loads"] = .5
        to.write(json.dumps(step) + "\n")
    run(phibal, "report", "one", "two", "three", "fallen", "stopped", "--out", "runs.html", "--pictures", "pictures")
    run(phibal, "report", "swept", "--out", "sweep.html")
    run(phibal, "report", "cases", "--out", "cases.html")
    with open("audit.json", "w", encoding="utf-8") as f:
        f.write(run(phibal, "audit", "--potential", "soft-l1", "--experts", "8..16", "--check=quick", "--skip",
                    "legendre,gradient,conjugate", "--html", "audit.html", "--json"))
    with open("refuted.json", "w", encoding="utf-8") as f:
        f.write(run(phibal, "audit", os.path.join(root, "tests/audit/phi/hinge.phi"), "--experts", "8..16", "--quick",
                    "--skip", "legendre", "--html", "refuted.html", "--json"))
    begin, end = verdict_of("audit.json")
    bad_begin, bad_end = verdict_of("refuted.json")
    wanted = {
        # Three evaluations of four runs, twelve steps of them and one of the fifth; a mark more in the legend.
        "runs.html": {"made": "report one two three fallen stopped --out", "sections": ["Summary", "Curves", "Loads of experts", "Loads by domain", "Results",
                                   "Where the configurations differ", "Configurations"],
                      "explained": ["Results"], "states": {"one": "all in use", "two": "all in use", "three": "all in use",
                                                          "fallen": "collapsed"},
                      "says": ["has collapsed: fallen"],
                      "marks": {"Loss on the validation text": 4 * (3 + 1), "Training loss": 4 * (12 + 1) + 1 + 1}},
        "sweep.html": {"made": "report swept --out", "sections": ["Points", "Along the last axis", "Over both axes"], "explained": [],
                       "says": ["The least loss"]},
        "cases.html": {"made": "report cases --out", "sections": ["Points", "Along the last axis"], "explained": [],
                       "says": ["The least loss"]},
        "audit.html": {"made": "audit of --potential soft-l1 with --experts 8..16 --quick --skip .* --check=quick$",
                       "sections": ["The potential", "Pictures", "Claims", "Dynamics", "Advice"],
                       "explained": ["Claims", "Dynamics", "Advice"], "says": begin, "advises": end},
        "refuted.html": {"made": "audit of .*hinge.phi with --experts 8..16 --quick",
                         "sections": ["The potential", "Pictures", "Claims", "Dynamics", "Advice"],
                         "explained": ["Claims", "Dynamics"], "says": bad_begin + ["would say"], "advises": bad_end, "notes": "[1]"},
    }
    for page in wanted:
        path = os.path.join(folder, page)
        for width, dark, look in (1280, False, True), (390, True, False):
            wrong = faults(path, width, dark, look, wanted[page])
            check(not wrong, "%s, %d pixels, %s%s" % (page, width, "dark" if dark else "light",
                                                      "".join("\n  " + w for w in wrong)))
    # Runs of one label are told apart in the legends.
    with open("runs.html", encoding="utf-8") as f:
        text = f.read()
    check(text.index(">one<", text.index("<svg")) > 0 and text.index(">three<", text.index("<svg")) > 0,
          "runs of one label bear their folders' names")

    check(drawn(os.path.join(folder, "pictures/01-training-loss.svg"), 480, 320, True, [[0, 0, 480, 320]]) == [True], "a picture by itself, dark")

    plants = {"runs.html": (
        ("pictures that do not shrink", 390, False, "wider than the window",
         lambda t: t.replace("</style>", "figure{min-width:24rem}</style>", 1)),
        ("black on black", 390, True, "hardly seen", lambda t: t.replace("</style>", "svg text{fill:#000}</style>", 1)),
        ("labels over each other", 1280, False, "step over",
         lambda t: picture(t, lambda s: s.replace("</text>", "</text><text x='0' y='0'>step</text>"))),
        ("a label that is cut", 1280, False, "outside: lost",
         lambda t: picture(t, lambda s: s + "<text x='-30' y='9'>lost</text>")),
        ("curves without a line", 1280, False, "picture 0 is empty",
         lambda t: picture(t, lambda s: re.sub(r"<(path|use)\b[^>]*/>", "", s, flags=re.S))),
        ("no pictures", 1280, False, "no pictures", lambda t: re.sub(r"<svg.*?</svg>", "", t, flags=re.S)),
        ("an axis of its own", 1280, False, "axes of 'load, in even shares' differ",
         lambda t: picture(t, lambda s: s.replace("> 3<", "> 0.3<"), "Loads of each layer", True)),
        ("losses of different axes", 1280, False, "axes of 'nats a token' differ",
         lambda t: picture(t, lambda s: re.sub(r"> (5\.[0-9]*)<", r"> 1\1<", s), "Loss on the validation")),
        ("steps of its own", 1280, False, "axes of 'step' differ",
         lambda t: picture(t, lambda s: s.replace("> 12<", "> 24<"), "Norm of the gradient")),
        ("a range of colours of its own", 1280, False, "have different ranges",
         lambda t: picture(t, lambda s: s.replace(">4</text></g>", ">2.5</text></g>"), "Loads of every expert")),
        ("ranges of colours that are not the axes'", 1280, False, "and colours from 0 to 9",
         lambda t: t.replace(">4</text></g>", ">9</text></g>")),
        ("colours of its own", 1280, False, "stands for values far apart",
         lambda t: picture(t, other_colours, "Loads of every expert")),
        ("a collapse without a mark", 1280, False, "'fallen' is marked ['all in use'], not collapsed",
         lambda t: t.replace('<span class="badge collapsed">collapsed<', '<span class="badge fine">all in use<')),
        ("a run marked as collapsed that is not", 1280, False, "'one' is marked ['collapsed'], not all in use",
         lambda t: t.replace('<span class="badge fine">all in use<', '<span class="badge collapsed">collapsed<', 1)),
        ("a verdict without the run", 1280, False, "the verdict lacks",
         lambda t: between(t, 'class="verdict', "</div>", lambda s: s.replace("fallen", "a run"))),
        ("a verdict at the end", 1280, False, "not with the verdict",
         lambda t: re.sub(r'(<div class="verdict.*?</div>)(.*)(</main>)', r"\2\1\3", t, flags=re.S)),
        ("sections in disorder", 1280, False, "sections: ",
         lambda t: t.replace("<h2>Curves<", "<h2>-<").replace("<h2>Results<", "<h2>Curves<").replace("<h2>-<", "<h2>Results<")),
        ("points without marks", 1280, False, "marks, not 16",
         lambda t: picture(t, lambda s: re.sub(r"<use\b[^>]*/>", "", s), "Loss on the validation")),
        ("one point without its mark", 1280, False, "marks, not 54",
         lambda t: picture(t, lambda s: s[:s.rindex("<use")] + s[s.index("/>", s.rindex("<use")) + 2:], "Training loss")),
        ("a row without a meaning", 1280, False, "is not explained",
         lambda t: between(t, "<h2>Results<", "</table>", lambda s: re.sub(r"<small>.*?</small>", "", s, count=1))),
        ("no date", 1280, False, "made: ", lambda t: re.sub(r"Made on <time>.*?</time> ", "Made ", t))),
              "audit.html": (
        ("the verdict after the pictures", 1280, False, "not with the verdict",
         lambda t: re.sub(r'(<div class="verdict.*?</div>)(.*)(<h2>Claims)', r"\2\1\3", t, count=1, flags=re.S)),
        ("numbers beyond the window", 390, True, "wider than the window: T",
         lambda t: t.replace("</style>", ".stack tr{grid-template-columns:repeat(4,9rem)!important}</style>", 1)),
        ("no result of --check", 1280, False, "the verdict lacks 'yes, everything",
         lambda t: t.replace("<dd>yes, everything asked for holds", "<dd>", 1)),
        ("tables before the pictures", 1280, False, "sections: ",
         lambda t: re.sub(r"(<h2>Pictures.*)(<h2>Claims.*?)(<h2>Dynamics)", r"\2\1\3", t, flags=re.S)),
        ("options left out", 1280, False, "made: ", lambda t: t.replace(" --check=quick</code>", "</code>", 1)),
        ("a number without a meaning", 1280, False, "'stiffness psi",
         lambda t: between(t, "<td>stiffness psi", "</td>", lambda s: re.sub(r"<small>.*?</small>", "", s))),
        ("a claim without a meaning", 1280, False, "is not explained",
         lambda t: between(t, "<h2>Claims", "</table>", lambda s: re.sub(r"<small>.*?</small>", "<small>-</small>", s, count=1))),
        ("advice without a reason", 1280, False, "the advice lacks",
         lambda t: between(t, '<h2 id="advice">', "</ul>", lambda s: re.sub(r"<li>.*?</li>", "", s, count=1))))}
    plants["refuted.html"] = (
        ("a mark without its note", 1280, False, "notes [] for marks", lambda t: re.sub(r'<p class="notes">.*?</p>', "", t)),)
    for page, faulty in plants.items():
        for name, width, dark, says, change in faulty:
            wrong = faults(planted(os.path.join(folder, page), name, change), width, dark, "empty" in says, wanted[page])
            check(any(says in w for w in wrong), "planted: %s: %s" % (name, "; ".join(wrong)[:160] or "not noticed"))
sys.exit(bad > 0)

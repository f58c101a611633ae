'use strict';
const steps = [...document.querySelectorAll('.step')], at = document.getElementById('at');
let place = 0, timer = 0;
const all = (name) => document.querySelectorAll('.' + name);
function show(wanted) {
  place = Math.max(0, Math.min(steps.length - 1, wanted));
  for (const name of ['now', 'done', 'sent', 'flows'])
    for (const part of all(name)) part.classList.remove(name);
  steps.forEach((step, i) => {
    if (i > place) return;
    const mark = (ids, name) => (ids || '').split(' ').filter(Boolean).forEach((id) => {
      const part = document.getElementById(id);
      if (part) part.classList.add(name);
    });
    if (step.dataset.pass === steps[place].dataset.pass) {
      mark(step.dataset.node, i === place ? 'now' : 'done');
      mark(step.dataset.edges, i === place ? 'flows' : 'done');
      if (i === place) mark(step.dataset.to, 'sent');
    }
  });
  steps[place].classList.add('now');
  at.textContent = 'step ' + (place + 1) + ' of ' + steps.length;
  for (const picture of all('picture'))
    picture.hidden = picture.dataset.pass !== steps[place].dataset.pass;
  const node = document.getElementById(steps[place].dataset.node);
  if (node) node.scrollIntoView({block: 'nearest', inline: 'center'});
  history.replaceState(null, '', '#step' + (place + 1));
}
function play() {
  if (timer) { clearInterval(timer); timer = 0; }
  else timer = setInterval(() => { if (place === steps.length - 1) play(); else show(place + 1); }, 1200);
  document.getElementById('play').textContent = timer ? 'stop' : 'play';
}
const moves = {ArrowRight: 1, j: 1, n: 1, ArrowLeft: -1, k: -1, p: -1};
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key in moves) show(place + moves[event.key]);
  else if (event.key === 'Home') show(0);
  else if (event.key === 'End') show(steps.length - 1);
  else if (event.key === ' ' && event.target.tagName !== 'BUTTON') play();
  else return;
  event.preventDefault();
});
document.getElementById('back').onclick = () => show(place - 1);
document.getElementById('next').onclick = () => show(place + 1);
document.getElementById('play').onclick = play;
document.body.classList.add('stepping');
show((parseInt(location.hash.replace('#step', ''), 10) || 1) - 1);

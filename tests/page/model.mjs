// A scripted model on loopback: it plans and answers as told, and waits where a test wants to look at a run half way.

import http from 'node:http';

const step = (id, agent, description, more = {}) => ({
  id, agent, description, prompt: description, reads: [], writes: [id], after: [], ...more,
});

const call = (name, args) => ({ calls: [[name, args]] });

// By the model's name: the plans, first and after a failure, and what each step's agent says, turn by turn. For a run with one
// agent, only its `turns`.
export const SCENARIOS = {
  // Six steps, three of them at the same time.
  parallel: {
    plans: [[
      step('profile', 'retriever', 'Look at the columns'),
      step('by_region', 'retriever', 'Revenue by region', { reads: ['profile'] }),
      step('by_month', 'retriever', 'Revenue by month', { reads: ['profile'] }),
      step('by_product', 'retriever', 'Revenue by product', { reads: ['profile'] }),
      step('report', 'summarizer', 'Put the figures together', { reads: ['by_region', 'by_month', 'by_product'] }),
      step('answer', 'summarizer', 'Say what stands out', { reads: ['profile', 'report'] }),
    ]],
    steps: {
      'Look at the columns': [call('read_file', { path: 'sales.csv' }), 'Three columns: date, region, units.'],
      'Revenue by region': ['East 120, West 80.'],
      'Revenue by month': ['March is the strongest month.'],
      'Revenue by product': ['Anvil sells best.'],
      'Put the figures together': ['# Sales\n\n| region | units |\n|---|---:|\n| East | 120 |\n| West | 80 |'],
      'Say what stands out': ['**East leads**, and `Anvil` sells best.\n\n- By region: East\n- By month: March'],
    },
  },
  // A provider that asks to wait once.
  busy: {
    plans: [[
      step('figures', 'retriever', 'Read the figures'),
      step('trend', 'retriever', 'Find the trend', { reads: ['figures'] }),
    ]],
    steps: {
      'Read the figures': [{ status: 429, once: true, wait: 6, then: 'East 120, West 80.' }],
      'Find the trend': ['East grows.'],
    },
  },
  // A file that only a person may allow to be written.
  approve: {
    plans: [[
      step('write', 'coder', 'Write the note'),
      step('answer', 'summarizer', 'Say where it is', { reads: ['write'] }),
    ]],
    steps: {
      'Write the note': [call('write_file', { path: 'note.md', content: '# Note\n\nRemember the milk.\n' }), 'It is in note.md.'],
      'Say where it is': ['The note is in note.md.'],
    },
  },
  // A question to the person.
  ask: {
    plans: [[
      step('ask', 'clarification', 'Ask which colour', { writes: ['colour'] }),
      step('answer', 'summarizer', 'Say which colour it is', { reads: ['colour'] }),
    ]],
    steps: {
      'Ask which colour': [
        call('ask_user', { question: 'Which colour should lead?', options: ['blue', 'red'] }),
        (results) => `The person said: ${results.at(-1)}`,
      ],
      'Say which colour it is': ['The colour is settled.'],
    },
  },
  // A source that is missing: the plan changes half way.
  replan: {
    plans: [
      [
        step('db', 'retriever', 'Read the database', { writes: ['figures'] }),
        step('notes', 'retriever', 'Read the notes', { writes: ['notes'] }),
        step('answer', 'summarizer', 'Combine both', { reads: ['figures', 'notes'] }),
      ],
      [
        step('csv', 'retriever', 'Read sales.csv instead', { writes: ['figures2'] }),
        step('answer2', 'summarizer', 'Combine what there is', { reads: ['figures2', 'notes'], writes: ['answer'] }),
      ],
    ],
    steps: {
      'Read the database': [call('read_file', { path: 'figures.db' }), { status: 400 }],
      'Read the notes': ['No notes.'],
      'Combine both': ['Combined.'],
      'Read sales.csv instead': [call('read_file', { path: 'sales.csv' }), 'Two regions.'],
      'Combine what there is': ['The database is missing; sales.csv has two regions.'],
    },
  },
};

// A thousand steps in rows of 25, each of which takes a moment.
SCENARIOS.large = {
  plans: [Array.from({ length: 1_000 }, (_, n) => {
    const after = n < 25 ? [] : [`t${n - 25}`, `t${n - (n % 25) - 25}`];
    return step(`t${n}`, 'summarizer', `Part ${n} of the work`, { after: [...new Set(after)] });
  })],
  steps: {},
  delay: 400,
};

const textOf = ({ content }) =>
  Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : (content ?? '');

// What the model says to a request, and the name under which a test can hold it back.
const decide = (scenario, messages) => {
  const of = (role) => messages.filter((message) => message.role === role).map(textOf);
  const system = [...of('system'), ...of('developer')].join('\n');
  const user = of('user').join('\n');
  const isPlanner = /You plan\.|You are the planner/.test(system);
  if (isPlanner) {
    const plan = user.includes('The plan met a failure') ? scenario.plans.at(-1) : scenario.plans[0];
    return { at: 'plan', said: JSON.stringify({ steps: plan }) };
  }
  if (scenario.turns) {
    return { at: 'turns', said: scenario.turns[Math.min(of('assistant').length, scenario.turns.length - 1)] };
  }
  const at = /# Your step\n\n(.*)\n/.exec(user)?.[1].trim() ?? '';
  const turns = scenario.steps[at] ?? ['I have nothing to add.'];
  const said = turns[Math.min(of('assistant').length, turns.length - 1)];
  return { at, said: typeof said === 'function' ? said(of('tool')) : said };
};

const chunk = (delta, finish = null, usage) => {
  const choices = usage ? [] : [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'scripted', choices, usage })}\n\n`;
};

const stream = (response, said) => {
  const { text = typeof said === 'string' ? said : '', calls = [] } = typeof said === 'string' ? {} : said;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ role: 'assistant', content: '' }));
  for (const piece of text.match(/[^]{1,12}/g) ?? []) response.write(chunk({ content: piece }));
  calls.forEach(([name, args], index) => {
    const id = `call_${index}_${Math.random().toString(36).slice(2)}`;
    const call = { index, id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
    response.write(chunk({ tool_calls: [call] }));
  });
  response.write(chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'));
  response.write(chunk({}, null, { prompt_tokens: 120, completion_tokens: 30, total_tokens: 150 }));
  response.end('data: [DONE]\n\n');
};

export class ScriptedModel {
  #held = new Map();
  #asked = new Set();
  #refused = new Set();
  #watchers = [];
  #isHurried = false;
  #scenario;

  // From now on nothing takes a moment.
  hurry() {
    this.#isHurried = true;
  }

  // From now on requests for any model are answered as this scenario says.
  use(scenario) {
    this.#scenario = scenario;
  }

  async start() {
    // Node would close a connection that rests for six seconds, just when a client that was told to wait so long uses it again.
    const options = { keepAliveTimeout: 60_000 };
    this.server = http.createServer(options, (request, response) => this.#serve(request, response));
    await new Promise((done) => this.server.listen(0, '127.0.0.1', done));
    this.url = `http://127.0.0.1:${this.server.address().port}/v1`;
    return this;
  }

  // Holds back what is said at a step (its description, or "plan") until it is released.
  hold(...steps) {
    for (const step of steps) {
      let release;
      const gate = new Promise((done) => { release = done; });
      this.#held.set(step, { gate, release });
    }
  }

  // Without names, releases everything.
  release(...steps) {
    for (const step of steps.length > 0 ? steps : [...this.#held.keys()]) {
      this.#held.get(step)?.release();
      this.#held.delete(step);
    }
  }

  // Waits until the model has been asked at a step.
  async asked(step) {
    while (!this.#asked.has(step)) await new Promise((done) => this.#watchers.push(done));
  }

  forget() {
    this.#asked.clear();
  }

  async #serve(request, response) {
    let body = '';
    for await (const piece of request) body += piece;
    if (request.method === 'GET') {
      const data = Object.keys(SCENARIOS).map((id) => ({ id, object: 'model' }));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ object: 'list', data }));
      return;
    }
    const { model: named, messages } = JSON.parse(body);
    const model = this.#scenario ?? named;
    const { at, said } = decide(SCENARIOS[model] ?? SCENARIOS.parallel, messages);
    this.#asked.add(at);
    for (const wake of this.#watchers.splice(0)) wake();
    await this.#held.get(at)?.gate;
    if (SCENARIOS[model]?.delay && !this.#isHurried) await new Promise((done) => setTimeout(done, SCENARIOS[model].delay));
    const isRefused = said.status && !(said.once && this.#refused.has(at));
    if (isRefused) {
      this.#refused.add(at);
      const error = { message: said.wait ? 'Slow down.' : 'This model cannot do that.', type: 'invalid_request_error' };
      const wait = said.wait ? { 'retry-after': said.wait } : {};
      response.writeHead(said.status, { 'content-type': 'application/json', ...wait }).end(JSON.stringify({ error }));
      return;
    }
    stream(response, said.then ?? said);
  }

  stop() {
    this.release();
    this.server.closeAllConnections();
    this.server.close();
  }
}

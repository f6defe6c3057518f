// Hunks: found, taken and put back, by hand and for random texts.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { hunks, keep, putBack } from '../src/review/hunks.ts';

test('changed, added and removed lines are hunks of their own', () => {
  const before = 'one\ntwo\nthree\nfour\nfive\n';
  const now = 'one\nTWO\nthree\nfour\nmore\nfive';
  assert.deepEqual(hunks(before, now), [
    { beforeStart: 1, before: ['two\n'], nowStart: 1, now: ['TWO\n'] },
    { beforeStart: 4, before: ['five\n'], nowStart: 4, now: ['more\n', 'five'] },
  ]);
  assert.deepEqual(hunks(before, before), []);
  assert.deepEqual(hunks('', 'a\n'), [{ beforeStart: 0, before: [], nowStart: 0, now: ['a\n'] }]);
  assert.deepEqual(hunks('a\nb\n', 'b\n'), [{ beforeStart: 0, before: ['a\n'], nowStart: 0, now: [] }]);
});

test('one hunk is put back and the others stay', () => {
  const [before, now] = ['a\nb\nc\nd\n', 'A\nb\nC\nd\ne\n'];
  const [first, second, third] = hunks(before, now);
  assert.equal(putBack(now, second!), 'A\nb\nc\nd\ne\n');
  assert.equal(putBack(now, third!), 'A\nb\nC\nd\n');
  assert.equal(keep(before, first!), 'A\nb\nc\nd\n');
  assert.deepEqual(hunks(keep(before, first!), now).length, 2);
});

// Numbers that look random and are the same every time.
const numbers = (seed: number) => () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;

test('all hunks put back give the text before, all kept the text now, and common lines are in none', () => {
  const next = numbers(7);
  const text = (length: number): string => Array.from({ length }, () => `${Math.floor(next() * 4)}\n`).join('');
  for (let round = 0; round < 2_000; round += 1) {
    const [before, now] = [text(Math.floor(next() * 12)), text(Math.floor(next() * 12))];
    let [back, kept] = [now, before];
    for (const hunk of hunks(before, now).reverse()) {
      back = putBack(back, hunk);
      kept = keep(kept, hunk);
      assert.ok(hunk.before.length > 0 || hunk.now.length > 0);
      assert.notDeepEqual(hunk.before, hunk.now);
    }
    assert.equal(back, before);
    assert.equal(kept, now);
  }
});

test('texts that differ in too much are one hunk', () => {
  const [before, now] = ['a\n'.repeat(3_000), 'b\n'.repeat(3_000)];
  const found = hunks(before, now);
  assert.equal(found.length, 1);
  assert.equal(putBack(now, found[0]!), before);
});

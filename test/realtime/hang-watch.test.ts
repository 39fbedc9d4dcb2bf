/** The watch of an event loop, in processes of their own that it may end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { bundled } from '../support/bundle.ts'

const MODULE = await bundled('src/realtime/hang-watch.ts')
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** Watches itself, and does what each line of its input says: a word, and how often. */
const programOf = (limitMs: number) => `
const { watchForHangs } = await import(${JSON.stringify(MODULE.href)})
const watch = watchForHangs(${limitMs})
const cell = new Int32Array(new SharedArrayBuffer(4))
const block = (ms) => Atomics.wait(cell, 0, 0, ms)
const deeds = {
  hang: () => block(3_600_000),
  work: async (rounds) => {
    for (let round = 0; round < rounds; round += 1) {
      block(${limitMs / 8})
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    process.stdout.write('worked')
  },
  end: async () => { await watch.close(); process.stdin.destroy() },
}
process.stdin.on('data', (text) => {
  const [word, rounds] = String(text).split(' ')
  deeds[word](Number(rounds))
})
process.stdout.write('ready')
`

async function watched(limitMs: number) {
  const args = ['--input-type=module', '-e', programOf(limitMs)]
  const child = spawn(process.execPath, args, { stdio: 'pipe' })
  children.push(child)
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  const exited = once(child, 'exit')
  const says = async () => String((await once(child.stdout, 'data'))[0])
  expect(await says()).toBe('ready')
  return {
    child,
    says,
    exited,
    errors: () => errors,
    order: (word: string) => child.stdin.write(word),
  }
}

it('ends a process whose event loop hangs, and says so', async () => {
  const { order, exited, errors } = await watched(400)
  order('hang')
  expect(await exited).toEqual([null, 'SIGKILL'])
  expect(errors()).toBe('tollgate: the event loop of charging hangs; the process is ended\n')
})

it('leaves one alone that is busy, and one that was stopped as a whole', async () => {
  // Longer than a busy machine keeps one of its two threads waiting.
  const limitMs = 3_000
  const { child, order, says, exited } = await watched(limitMs)
  order('work 9')
  expect(await says()).toBe('worked')
  child.kill('SIGSTOP')
  await pause(1.5 * limitMs)
  child.kill('SIGCONT')
  order('work 3')
  expect(await says()).toBe('worked')
  order('end')
  expect(await exited).toEqual([0, null])
})

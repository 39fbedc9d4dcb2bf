/** The watch of an event loop, in processes of their own that it may end. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { bundled } from '../support/bundle.ts'

const MODULE = await bundled('src/realtime/hang-watch.ts')
const LIMIT_MS = 400

const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

/** Watches itself, and does what each line of its input says. */
const PROGRAM = `
const { watchForHangs } = await import(${JSON.stringify(MODULE.href)})
const watch = watchForHangs(${LIMIT_MS})
const spin = (ms) => { const until = performance.now() + ms; while (performance.now() < until); }
const deeds = {
  hang: () => spin(3_600_000),
  work: async () => {
    for (let round = 0; round < 20; round += 1) {
      spin(${LIMIT_MS / 8})
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    process.stdout.write('worked')
  },
  end: async () => { await watch.close(); process.stdin.destroy() },
}
process.stdin.on('data', (text) => deeds[String(text)]())
process.stdout.write('ready')
`

async function watched() {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], { stdio: 'pipe' })
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
  const { order, exited, errors } = await watched()
  order('hang')
  expect(await exited).toEqual([null, 'SIGKILL'])
  expect(errors()).toBe('tollgate: the event loop of charging hangs; the process is ended\n')
})

it('leaves one alone that is busy, and one that was stopped as a whole', async () => {
  const { child, order, says, exited } = await watched()
  order('work')
  expect(await says()).toBe('worked')
  child.kill('SIGSTOP')
  await pause(3 * LIMIT_MS)
  child.kill('SIGCONT')
  order('work')
  expect(await says()).toBe('worked')
  order('end')
  expect(await exited).toEqual([0, null])
})

import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { endedAtStart, killIfSilent } from '../../src/cli/child.ts'
import { createSupervisor, type Running, type StandbyProcess } from '../../src/cli/supervisor.ts'

const log = { warn: () => undefined, error: () => undefined }

/** A process that runs until it is ended, by the test or by its supervisor. */
function fakes() {
  const started: { end: (how: string) => void; isRunning: boolean }[] = []
  const begin = async (): Promise<Running> => {
    let end: (how: string) => void = () => undefined
    const fake = { end: (how: string) => end(how), isRunning: true }
    const exited = new Promise<string>((resolve) => {
      end = (how) => {
        fake.isRunning = false
        resolve(how)
      }
    })
    started.push(fake)
    return { pid: started.length, exited, stop: async () => fake.end('stopped') }
  }
  return { started, begin }
}

it('a supervisor restarts a process that ends unexpectedly, not one that was stopped', async () => {
  const { started, begin } = fakes()
  const supervisor = createSupervisor({ name: 'part', begin, log })
  await supervisor.start()
  started[0]?.end('SIGKILL')
  await expect.poll(() => started.length).toBe(2)
  await supervisor.stop()
  expect(started.map(({ isRunning }) => isRunning)).toEqual([false, false])
})

it('a supervisor tries again when a later start fails', async () => {
  const { started, begin } = fakes()
  let failures = 0
  const supervisor = createSupervisor({
    name: 'part',
    begin: async () => {
      if (started.length === 1 && failures++ === 0) throw new Error('not now')
      return begin()
    },
    log,
  })
  await supervisor.start()
  started[0]?.end('code 1')
  await expect.poll(() => started.length).toBe(2)
  expect(failures).toBeGreaterThan(0)
  await supervisor.stop()
})

it('a supervisor reports why the first start failed', async () => {
  const supervisor = createSupervisor({
    name: 'part',
    begin: () => Promise.reject(new Error('port in use')),
    log,
  })
  await expect(supervisor.start()).rejects.toThrow('port in use')
  await supervisor.stop()
})

it('a supervisor starts a process again that is killed while it starts, a few times', async () => {
  const { started, begin } = fakes()
  const tries = { left: 2, count: 0 }
  const killed = () => {
    tries.count += 1
    tries.left -= 1
    if (tries.left >= 0) throw endedAtStart('mongo', 'SIGKILL')
    return begin()
  }
  const supervisor = createSupervisor({ name: 'mongo', begin: async () => killed(), log })
  await supervisor.start()
  expect([tries.count, started.length]).toEqual([3, 1])
  await supervisor.stop()

  const never = () => Promise.reject(endedAtStart('mongo', 'SIGKILL'))
  const second = createSupervisor({ name: 'mongo', begin: never, log })
  await expect(second.start()).rejects.toThrow('mongo: ended at start, SIGKILL')
  await second.stop()
  tries.left = 1
  const refused = createSupervisor({
    name: 'mongo',
    begin: () => Promise.reject(endedAtStart('mongo', 'code 1')),
    log,
  })
  await expect(refused.start()).rejects.toThrow('mongo: ended at start, code 1')
})

it('a supervisor stopped during a start ends what has started, and starts no more', async () => {
  const { started, begin } = fakes()
  let go: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  const supervisor = createSupervisor({ name: 'part', begin: () => gate.then(begin), log })
  const starting = supervisor.start()
  const stopping = supervisor.stop()
  go()
  await Promise.all([starting, stopping])
  expect(started.map(({ isRunning }) => isRunning)).toEqual([false])
  await expect(supervisor.start()).rejects.toThrow('tollgate is stopping')
})

describe('a spare', () => {
  /** Spares that are activated as parts of `fakes`, or fail to be. */
  function spares(begin: () => Promise<Running>) {
    const prepared: { end: (how: string) => void; hasTakenOver: boolean; isStopped: boolean }[] = []
    const prepare = (): StandbyProcess => {
      let end: (how: string) => void = () => undefined
      const exited = new Promise<string>((resolve) => {
        end = resolve
      })
      const spare = { end: (how: string) => end(how), hasTakenOver: false, isStopped: false }
      prepared.push(spare)
      return {
        exited,
        async stop() {
          spare.isStopped = true
        },
        takeOver() {
          spare.hasTakenOver = true
          return begin()
        },
      }
    }
    return { prepared, prepare }
  }

  it('replaces an ended process, and another spare is started', async () => {
    const { started, begin } = fakes()
    let begun = 0
    const { prepared, prepare } = spares(begin)
    const first = () => {
      begun += 1
      return begin()
    }
    const supervisor = createSupervisor({ name: 'part', begin: first, prepare, log })
    await supervisor.start()
    for (const index of [0, 1, 2]) {
      await expect.poll(() => prepared.length).toBe(index + 1)
      started[index]?.end('SIGKILL')
      await expect.poll(() => prepared[index]?.hasTakenOver).toBe(true)
      await expect.poll(() => started.length).toBe(index + 2)
    }
    expect(begun).toBe(1)
    await supervisor.stop()
    expect(started.every(({ isRunning }) => !isRunning)).toBe(true)
  })

  it('that ends is started again, and is stopped with the others', async () => {
    const { started, begin } = fakes()
    const { prepared, prepare } = spares(begin)
    const supervisor = createSupervisor({ name: 'part', begin, prepare, log })
    await supervisor.start()
    await expect.poll(() => prepared.length).toBe(1)
    prepared[0]?.end('SIGKILL')
    await expect.poll(() => prepared.length).toBe(2)
    await supervisor.stop()
    expect(prepared[1]).toMatchObject({ isStopped: true, hasTakenOver: false })
    expect(started.map(({ isRunning }) => isRunning)).toEqual([false])
  })

  it('that cannot be activated is replaced by a regular start', async () => {
    const { started, begin } = fakes()
    const { prepared, prepare } = spares(() => Promise.reject(new Error('port in use')))
    const supervisor = createSupervisor({ name: 'part', begin, prepare, log })
    await supervisor.start()
    await expect.poll(() => prepared.length).toBe(1)
    started[0]?.end('SIGKILL')
    await expect.poll(() => started.length).toBe(2)
    await supervisor.stop()
  })
})

describe('a process that is silent', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const SILENCE_MS = 8_000
  const TICK_MS = 1_000
  function watched() {
    const signals: string[] = []
    const kill = (signal: string) => signals.push(signal)
    const child = Object.assign(new EventEmitter(), { kill }) as never as EventEmitter
    const onKill = () => signals.push('told')
    const watch = killIfSilent(child as never, { forMs: SILENCE_MS, onKill })
    return { child, watch, signals, beat: () => child.emit('message', { type: 'alive' }) }
  }

  it('since its first beat is killed after the time, once', () => {
    const { signals, beat } = watched()
    vi.advanceTimersByTime(100 * SILENCE_MS)
    expect(signals).toEqual([])
    beat()
    vi.advanceTimersByTime(SILENCE_MS)
    expect(signals).toEqual([])
    vi.advanceTimersByTime(TICK_MS)
    expect(signals).toEqual(['told', 'SIGKILL'])
    vi.advanceTimersByTime(100 * SILENCE_MS)
    expect(signals).toHaveLength(2)
  })

  it('only while its parent stood still itself is not killed', () => {
    const { signals, beat } = watched()
    beat()
    for (let stall = 1; stall <= 8; stall += 1) {
      // Hours during which no timer of the parent runs; the beats of that time are read after it.
      vi.setSystemTime(Date.now() + 100 * SILENCE_MS)
      vi.advanceTimersToNextTimer()
    }
    expect(signals).toEqual([])
    beat()
    vi.advanceTimersByTime(SILENCE_MS)
    expect(signals).toEqual([])
    vi.advanceTimersByTime(TICK_MS)
    expect(signals).toEqual(['told', 'SIGKILL'])
  })

  it('but has beaten meanwhile, has exited or is being stopped is not killed', () => {
    const beating = watched()
    for (let beats = 0; beats < 100; beats += 1) {
      beating.beat()
      vi.advanceTimersByTime(SILENCE_MS)
    }
    const exited = watched()
    exited.beat()
    exited.child.emit('exit')
    const stopped = watched()
    stopped.beat()
    stopped.watch.end()
    stopped.beat()
    beating.watch.end()
    vi.advanceTimersByTime(100 * SILENCE_MS)
    expect([beating.signals, exited.signals, stopped.signals]).toEqual([[], [], []])
  })
})

import { expect, it } from 'vitest'
import { createKeeper, type Running } from '../../src/cli/keeper.ts'

const log = { warn: () => undefined, error: () => undefined }

/** Something that runs until it is told to end, by the test or by its keeper. */
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

it('starts again what ends unasked, and not what was stopped', async () => {
  const { started, begin } = fakes()
  const keeper = createKeeper('part', begin, log)
  await keeper.start()
  started[0]?.end('SIGKILL')
  await expect.poll(() => started.length).toBe(2)
  await keeper.stop()
  expect(started.map(({ isRunning }) => isRunning)).toEqual([false, false])
})

it('tries again when a later start fails', async () => {
  const { started, begin } = fakes()
  let failures = 0
  const keeper = createKeeper(
    'part',
    async () => {
      if (started.length === 1 && failures++ === 0) throw new Error('not now')
      return begin()
    },
    log,
  )
  await keeper.start()
  started[0]?.end('code 1')
  await expect.poll(() => started.length).toBe(2)
  expect(failures).toBeGreaterThan(0)
  await keeper.stop()
})

it('passes on why the first start fails', async () => {
  const keeper = createKeeper('part', () => Promise.reject(new Error('port in use')), log)
  await expect(keeper.start()).rejects.toThrow('port in use')
  await keeper.stop()
})

it('stopped while it starts, ends what has started, and starts nothing more', async () => {
  const { started, begin } = fakes()
  let go: () => void = () => undefined
  const gate = new Promise<void>((resolve) => {
    go = resolve
  })
  const keeper = createKeeper('part', () => gate.then(begin), log)
  const starting = keeper.start()
  const stopping = keeper.stop()
  go()
  await Promise.all([starting, stopping])
  expect(started.map(({ isRunning }) => isRunning)).toEqual([false])
  await expect(keeper.start()).rejects.toThrow('everything stops')
})

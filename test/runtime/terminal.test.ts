import { PassThrough } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { Progress } from '../../src/cli/progress.ts'
import { Terminal, WorkRate } from '../../src/runtime/terminal.ts'

function opened(isTTY = false) {
  const stream = () => Object.assign(new PassThrough(), { isTTY })
  const [stdout, stderr] = [stream(), stream()]
  const terminal = new Terminal({ stdin: new PassThrough(), stdout, stderr })
  return { terminal, stdout, out: () => String(stdout.read()), err: () => String(stderr.read()) }
}

describe('the terminal', () => {
  it('shows control characters of stored texts as escapes', () => {
    const { terminal, out, err } = opened()
    terminal.print('name \u001b]0;x\u0007\u001b[2J\r\u009b31m\u007f\ttab\nline')
    terminal.printError('\u001b[1A')
    terminal.statusLine().show('\u001b[5m')
    expect(out()).toBe('name \\x1b]0;x\\x07\\x1b[2J\\x0d\\x9b31m\\x7f\ttab\nline\n')
    expect(err()).toBe('\\x1b[1A\n\\x1b[5m\n')
  })

  it.each([
    [true, 'a,\\x1b[2J\n'],
    [false, 'a,\u001b[2J\n'],
  ])('writes rows as they are, except on a terminal: %s', async (isTTY, written) => {
    const { terminal, out } = opened(isTTY)
    async function* rows() {
      yield 'a,\u001b[2J\n'
    }
    await terminal.printAll(rows())
    expect(out()).toBe(written)
  })

  it('drops output without a reader', () => {
    const { terminal, stdout } = opened()
    terminal.continueWithoutReader()
    stdout.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }))
    terminal.print('more')
  })
})

describe('the progress of long work', () => {
  it.each([
    [0, 100, 0, ''],
    [50, 100, 10, ', 5/s, 10 s left'],
    [1, 100, 10, ', 0.1/s, 16 min 30 s left'],
    [10, 100_000, 1, ', 10/s, 2 h 46 min left'],
    [100, 100, 10, ', 10/s'],
    [50, null, 10, ', 5/s'],
  ])('%d of %s after %d s', (done, total, seconds, text) => {
    expect(new WorkRate(1_000, 0).text({ done, total }, 1_000 + seconds * 1000)).toBe(text)
  })

  it('counts what was done before as no work of this command', () => {
    expect(new WorkRate(0, 900).text({ done: 950, total: 1000 }, 10_000)).toBe(', 5/s, 10 s left')
  })

  it('of a command names the time left if its end is known', () => {
    vi.useFakeTimers()
    try {
      const { terminal, err } = opened()
      const progress = new Progress(terminal, 'cards', 5_000)
      progress.show(1_000)
      vi.advanceTimersByTime(10_000)
      progress.show(2_000)
      expect(err()).toBe('2000 of 5000 cards, 100/s, 30 s left\n')
    } finally {
      vi.useRealTimers()
    }
  })

  it('has a bar on a terminal only', () => {
    const shown = (isTTY: boolean) => {
      const { terminal, err } = opened(isTTY)
      terminal.statusLine().show('50 of 100 rows', 0.5)
      return err()
    }
    expect(shown(true)).toContain('[############............] 50 of 100 rows')
    expect(shown(false)).toBe('50 of 100 rows\n')
  })
})

import { describe, expect, it } from 'vitest'
import { sourcesOf } from '../../src/intake/sources/settings.ts'
import { oldestMs, WaitingFiles } from '../../src/intake/sources/waiting-files.ts'

const found = (name: string, sizeBytes = 1, modifiedMs = 1) => ({ name, sizeBytes, modifiedMs })

function filesOf(source: Record<string, unknown>) {
  const [settings] = sourcesOf({ here: { place: 'p', fileType: 't', ...source } })
  if (settings === undefined) throw new Error('no settings')
  const files = new WaitingFiles(settings)
  const observe = (names: ReturnType<typeof found>[], nowMs: number) => {
    const { waiting, ready } = files.observe(names, nowMs)
    return [waiting.map(({ name }) => name), ready.map(({ name }) => name)]
  }
  return { files, observe }
}

describe('a file that waits', () => {
  it('is complete when it has not changed for long enough', () => {
    const { observe } = filesOf({ stableMs: 100 })
    expect(observe([found('a', 1), found('b')], 0)).toEqual([['a', 'b'], []])
    expect(observe([found('a', 2), found('b')], 99)).toEqual([['a', 'b'], []])
    expect(observe([found('a', 2), found('b')], 100)).toEqual([['a', 'b'], ['b']])
    expect(observe([found('a', 2, 2), found('b')], 199)).toEqual([['a', 'b'], ['b']])
    expect(observe([found('a', 2, 2)], 299)).toEqual([['a'], ['a']])
  })

  it('begins again after it was gone', () => {
    const { observe } = filesOf({ stableMs: 100 })
    observe([found('a')], 0)
    observe([], 50)
    expect(observe([found('a')], 100)).toEqual([['a'], []])
  })

  it('is complete when its marker is there, which is no file of records', () => {
    const { observe } = filesOf({ marker: '.ok' })
    expect(observe([found('a'), found('b'), found('b.ok')], 0)).toEqual([['a', 'b'], ['b']])
    expect(observe([found('c.ok')], 0)).toEqual([[], []])
  })

  it('is not complete when its marker is that of an earlier file', () => {
    const { observe } = filesOf({ marker: '.ok' })
    expect(observe([found('a', 1, 2_000), found('a.ok', 0, 1_000)], 0)).toEqual([['a'], []])
    expect(observe([found('a', 1, 2_000), found('a.ok', 0, 2_000)], 0)).toEqual([['a'], ['a']])
  })

  it('is one of any number', () => {
    const files = Array.from({ length: 200_000 }, (_, at) => found(`${at}`, 1, at + 5))
    expect(oldestMs(files)).toBe(5)
  })

  it('is attempted again when it was postponed', () => {
    const { files, observe } = filesOf({ stableMs: 0 })
    files.postpone('a', 100)
    expect(observe([found('a'), found('b')], 99)).toEqual([['a', 'b'], ['b']])
    expect(observe([found('a'), found('b')], 100)).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
  })

  it.each([
    ['*', ['a.csv', 'b.CSV', 'x']],
    ['*.csv', ['a.csv']],
    ['?.c*', ['a.csv']],
    ['a.csv', ['a.csv']],
    ['a+csv', []],
    ['b.[C]SV', []],
  ])('matches the pattern %s', (pattern, expected) => {
    const { observe } = filesOf({ pattern })
    expect(observe([found('in/a.csv'), found('in/b.CSV'), found('in/x')], 0)[0]).toEqual(
      expected.map((name) => `in/${name}`),
    )
  })
})

it('needs at least one source', () => {
  expect(() => sourcesOf({})).toThrow('intake.sources is empty')
})

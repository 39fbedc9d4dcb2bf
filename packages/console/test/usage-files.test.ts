import { describe, expect, it } from 'vitest'
import { canHandle, countsOf, handleEach, type Outcome } from '../src/pages/usage-files/data.ts'
import { FilePaces } from '../src/pages/usage-files/pace.ts'

describe('the pace of a file', () => {
  const file = (offset: number, read: number) => ({ file: 'a', size: 1_000, offset, read })

  it('is known from the second read on, and counts what was read since the first one', () => {
    const paces = new FilePaces()
    paces.note(file(200, 20), 10_000)
    const nothing = { perSecond: null, leftSeconds: null }
    expect(paces.of(file(200, 20))).toEqual({ percent: 20, ...nothing })
    paces.note(file(400, 30), 14_000)
    expect(paces.of(file(400, 30))).toEqual({ percent: 40, perSecond: 2.5, leftSeconds: 12 })
  })

  it('is that of the last half minute, and unknown when nothing goes on', () => {
    const paces = new FilePaces()
    paces.note(file(0, 0), 0)
    paces.note(file(100, 10), 20_000)
    paces.note(file(400, 40), 35_000)
    expect(paces.of(file(400, 40))).toEqual({ percent: 40, perSecond: 2, leftSeconds: 30 })
    paces.note(file(400, 40), 65_000)
    expect(paces.of(file(400, 40))).toMatchObject({ perSecond: null, leftSeconds: null })
  })

  it('is no fault of an empty file', () => {
    const empty = { file: 'b', size: 0, offset: 0, read: 0 }
    expect(new FilePaces().of(empty)).toMatchObject({ percent: 100, leftSeconds: null })
  })
})

describe('selected records', () => {
  it('are those that a handling is for, by their state', () => {
    const states = ['waiting', 'submitted', 'corrected', 'dropped'] as const
    const allowed = (how: 'resubmit' | 'drop') =>
      states.filter((state) => canHandle(how, { state }))
    expect(allowed('resubmit')).toEqual(['waiting', 'submitted'])
    expect(allowed('drop')).toEqual(['waiting'])
  })

  it('that have an outcome are not handled again, when a failure ended the others', async () => {
    const known = new Map<string, Outcome>()
    const asked: string[] = []
    let isAway = true
    const act = async (id: string): Promise<Outcome> => {
      asked.push(id)
      if (id === 'b' && isAway) throw new Error('away')
      return id === 'c' ? 'rejected' : 'charged'
    }
    const handle = () => handleEach(['a', 'b', 'c'], known, act, () => undefined)
    await expect(handle()).rejects.toThrow('away')
    isAway = false
    await handle()
    expect(asked).toEqual(['a', 'b', 'b', 'c'])
    expect(countsOf(known.values())).toEqual([
      ['charged', 2],
      ['rejected', 1],
    ])
  })
})

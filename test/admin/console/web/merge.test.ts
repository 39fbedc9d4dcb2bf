import { describe, expect, it } from 'vitest'
import { changesOf, mergeOf } from '../../../../src/admin/console/web/parts/merge.ts'

const BASE = { name: 'Ada', city: 'London', phone: '1' }

describe('two edits of one revision', () => {
  it('clash where both have set a field to different values', () => {
    const merge = mergeOf(BASE, { ...BASE, name: 'Eve' }, { ...BASE, name: 'Zoe' })
    expect(merge).toEqual({ clashes: [{ field: 'name', mine: 'Eve', theirs: 'Zoe' }], theirs: [] })
  })

  it('do not clash with equal values or in different fields', () => {
    const stored = { ...BASE, name: 'Eve', city: '' }
    expect(mergeOf(BASE, { ...BASE, name: 'Eve', phone: '2' }, stored)).toEqual({
      clashes: [],
      theirs: [{ field: 'city', before: 'London', after: '' }],
    })
  })

  it('write only what differs from the stored revision', () => {
    expect(changesOf(BASE, { ...BASE, city: '' })).toEqual({ city: '' })
    expect(changesOf(BASE, BASE)).toEqual({})
  })
})

/** The latest lines of a plan, which a comparison of quotes reads. */
import { describe, expect, it } from 'vitest'
import { quote } from '../../../src/admin/actions/quote.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'

const api = useActionServer([quote])

describe('comparison of the latest lines of a plan', () => {
  it('reads them by an index, in order', async () => {
    const explained = await api
      .catalog()
      .unguarded.lines.find({ plan: 'SURF', type: 'realtime' } as object)
      .sort({ urt: -1 })
      .explain('queryPlanner')
    const text = JSON.stringify(explained)
    expect(text).toContain('IXSCAN')
    expect(text).not.toMatch(/COLLSCAN|"SORT"/)
  })

  it('needs the permission to read lines', () => {
    const needed = (params: object) => quote.entityActions?.(new Map(Object.entries(params)))
    expect(needed({ plan: 'SURF' })).toEqual([{ collection: 'lines', action: 'get' }])
    expect(needed({ cases: [] })).toEqual([])
  })
})

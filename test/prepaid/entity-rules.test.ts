import { describe, expect, it } from 'vitest'
import { insertEntity, useStore } from '../support/catalog/store.ts'
import {
  check,
  contextOf,
  documentOf,
  prepare,
  refusal,
} from '../support/entities/rules/context.ts'

const store = useStore()

describe('a prepaid include', () => {
  it('keeps its external_id', async () => {
    const context = contextOf(await store.open())
    const target = documentOf({ name: 'MONEY', external_id: 1 })
    await prepare('prepaidincludes', { external_id: 1, priority: 5 }, context, target)
    await prepare('prepaidincludes', { external_id: 2 }, context)
    const asked = prepare('prepaidincludes', { external_id: 2 }, context, target)
    expect(await refusal(asked)).toEqual([0, 'external_id never changes: it is 1, not 2'])
  })
})

describe('a prepaid group', () => {
  const group = (...include: object[]) => ({ name: 'TOPUP20', include })

  it('names existing prepaid includes', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'prepaidincludes')
    await insertEntity(catalog, 'prepaidincludes', { name: 'DATA', external_id: 2 })
    await insertEntity(catalog, 'prepaidincludes', { name: 'X', external_id: 3, deleted: true })
    const context = contextOf(catalog)
    const good = group(
      { pp_includes_external_id: 1 },
      { pp_includes_external_id: '2', pp_includes_name: 'DATA' },
      { pp_includes_name: 'MONEY' },
    )
    await check('prepaidgroups', good, context)
    const wrong: [object, string][] = [
      [{ pp_includes_external_id: 9 }, 'include.1: there is no prepaid include 9'],
      [{ pp_includes_external_id: 3 }, 'include.1: there is no prepaid include 3'],
      [{ pp_includes_name: 'GONE' }, 'include.1: there is no prepaid include GONE'],
      [
        { pp_includes_external_id: 1, pp_includes_name: 'DATA' },
        'include.1: there is no prepaid include DATA with external_id 1',
      ],
      [{}, 'include.1: there is no prepaid include'],
    ]
    for (const [entry, text] of wrong) {
      const fields = group({ pp_includes_name: 'MONEY' }, entry)
      expect(await refusal(check('prepaidgroups', fields, context))).toEqual([0, text])
    }
  })
})

describe('a tax', () => {
  it('has a rate between 0 and 1, and a description', async () => {
    const context = contextOf(await store.open())
    for (const rate of [0, 1, 0.17, '0.175']) {
      await check('taxes', { rate, description: 'VAT' }, context)
    }
    for (const rate of [17, -0.1, '1.01', 'much', undefined]) {
      const asked = check('taxes', { rate, description: 'VAT' }, context)
      expect(await refusal(asked)).toEqual([0, 'rate must be a fraction from 0 to 1: 0.17 is 17 %'])
    }
    expect(await refusal(check('taxes', { rate: 0.1 }, context))).toEqual([
      0,
      'description must be a text that is not empty',
    ])
    const stored = documentOf({ rate: 0.17 })
    await check('taxes', { rate: 0.18 }, context, stored)
  })
})

/** `plans`: the plans in force. */
import { either, ref } from '../../../catalog/entities/json-schema.ts'
import { action } from '../action.ts'
import { CATALOGUE_PARAMETERS, columnsOf, readRevisions, STRIPPED, stripOf } from './catalogue.ts'
import { documentView } from './entity-calls.ts'

export const plans = action({
  name: 'plans',
  level: 'read',
  about: 'Plans',
  entityActions: () => [{ collection: 'plans', action: 'get' }],
  isReadByGet: true,
  parameters: CATALOGUE_PARAMETERS,
  answer: {
    details: either(
      'The plans, or with `strip` lists of values.',
      ref<readonly object[]>('documents.list', 'Plans.'),
      STRIPPED,
    ),
  },
  example: { parameters: { query: { name: 'GOLD' } }, answer: { details: [] } },
  async run({ query, strip: value }, call) {
    const strip = stripOf(value)
    const found = await readRevisions(call, 'plans', query)
    const rows = found.map((row) => documentView(row, call))
    return { details: strip === null ? rows : columnsOf(rows, strip) }
  },
})

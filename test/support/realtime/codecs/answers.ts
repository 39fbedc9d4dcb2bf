import { plainOutcome, type ServiceOutcome } from '../../../../src/domain/charge-outcome.ts'
import {
  type AnswerSource,
  type AnswerValue,
  NumberText,
  type ResponseNode,
} from '../../../../src/file-types/file-type.ts'

/** Granted 5 units of data. */
export const service: ServiceOutcome = {
  ratingGroup: 10,
  usaget: 'data',
  reason: 'granted',
  granted: 5,
  validityMs: 1500,
  tariffChangeMs: 0,
  action: null,
  finalUnit: false,
  cost: 0,
  quote: null,
  serviceIdentifier: '',
  parts: null,
}

/** An answer with this many services, the first granted 5, each further one 1 more. */
export function answerWith(services: number): AnswerSource {
  const entries = Array.from({ length: services }, (_, index) => ({ id: `e${index}` }))
  const message = { id: 'm' }
  return {
    fileType: 'test',
    echo: {
      message,
      entries,
      requestType: 1,
      recordType: 'update_request',
      sessionId: 's',
      requestNumber: 1,
      pretend: false,
    },
    outcome: {
      ...plainOutcome('granted'),
      services: entries.map((_, index) => ({ ...service, granted: 5 + index })),
    },
    settings: () => {
      throw new Error('no field of these tests reads a setting')
    },
  }
}

export function valueNode(name: string, value: AnswerValue | undefined): ResponseNode {
  return { kind: 'value', name, read: () => value }
}

/** One of each kind of node and value. */
export const allKinds: readonly ResponseNode[] = [
  valueNode('status', 1),
  valueNode('desc', 'Success'),
  valueNode('absent', undefined),
  valueNode('finalUnit', false),
  valueNode('aprice', new NumberText('0.10')),
  {
    kind: 'group',
    name: 'granted',
    children: [valueNode('volume', 10), { kind: 'group', name: 'unit', children: [] }],
  },
  {
    kind: 'services',
    name: 'services',
    children: [
      { kind: 'value', name: 'grantedVolume', read: (_answer, own) => own?.granted },
      { kind: 'value', name: 'id', read: (_answer, _own, { id }) => String(id) },
      { kind: 'group', name: 'more', children: [valueNode('x', 'y')] },
    ],
  },
  valueNode('filters', ['a', 'b']),
  valueNode('balances', [{ group: 'g', balance: 1 }, { group: 'h' }]),
  valueNode('none', []),
]

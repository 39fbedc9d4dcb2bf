import { describe, expect, it } from 'vitest'
import type { Reason, ServiceOutcome } from '../../../../src/domain/charge-outcome.ts'
import { plainOutcome } from '../../../../src/domain/charge-outcome.ts'
import { answerFields } from '../../../../src/file-types/answer-fields.ts'
import {
  type AnswerSource,
  type AnswerValue,
  NumberText,
  type ResponseNode,
} from '../../../../src/file-types/file-type.ts'
import { builtInReturnCodes } from '../../../../src/file-types/return-codes.ts'
import { diameterMessageParser } from '../../../../src/realtime/codecs/diameter/diameter-message.ts'
import { createDiameterEncoder } from '../../../../src/realtime/codecs/diameter/encode-diameter.ts'
import { service as plain } from '../../../support/realtime/codecs/answers.ts'
import { byCodes, byNames, entries, pairs } from '../../../support/realtime/codecs/diameter/ccr.ts'

const value = (name: string, constant: AnswerValue | undefined): ResponseNode => ({
  kind: 'value',
  name,
  read: () => constant,
})

const nodes: ResponseNode[] = [
  { kind: 'value', name: 'Session-Id', read: answerFields.session_id },
  { kind: 'value', name: 'Result-Code', read: answerFields.return_code },
  value('CC-Request-Type', 2),
  value('CC-Request-Number', undefined),
  {
    kind: 'services',
    name: 'Multiple-Services-Credit-Control',
    children: [
      {
        kind: 'group',
        name: 'Granted-Service-Unit',
        children: [
          {
            kind: 'value',
            name: 'CC-Total-Octets',
            read: (_, service) => service?.granted || undefined,
          },
        ],
      },
      { kind: 'value', name: 'Rating-Group', read: answerFields.rating_group },
      { kind: 'value', name: 'Result-Code', read: answerFields.return_code },
      { kind: 'value', name: 'Volume-Quota-Threshold', read: answerFields.threshold },
    ],
  },
]

const service = (ratingGroup: number, reason: Reason, granted: number): ServiceOutcome => ({
  ...plain,
  ratingGroup,
  reason,
  granted,
  validityMs: 1000,
})

function answerTo(body: unknown, reason: Reason = 'granted'): AnswerSource & { form: unknown } {
  const parsed = diameterMessageParser.parse(Buffer.from(JSON.stringify(body)))
  if (!parsed.ok) throw new Error(parsed.error.why)
  const { message, form } = parsed
  const list = message['Multiple-Services-Credit-Control']
  const returnCodes = { ...builtInReturnCodes, granted: 2001, noCredit: 4012, overloaded: 3004 }
  const settings = {
    quotaHoldingMs: 0,
    thresholdPercent: 20,
    finalUnit: { action: 'none' } as const,
    currencyCode: 999,
    returnCodes,
  }
  return {
    fileType: 'diameter',
    echo: {
      message,
      entries: Array.isArray(list) ? list : [message],
      requestType: 2,
      recordType: 'update_request',
      sessionId: 'pgw1;1;7',
      requestNumber: 3,
      pretend: false,
    },
    outcome: {
      ...plainOutcome(reason),
      services: [service(10, 'granted', 5000), service(20, 'noCredit', 0)],
    },
    settings: () => settings,
    form,
  }
}

function encode(body: unknown, tree: readonly ResponseNode[] = nodes, reason?: Reason): string {
  const answer = answerTo(body, reason)
  return createDiameterEncoder(tree).encode(answer, answer.form)
}

describe('the answer has the shape of the request', () => {
  it.each([
    [
      'names',
      byNames,
      '{"Session-Id":"pgw1;1;7","Result-Code":2001,"CC-Request-Type":2,' +
        '"Multiple-Services-Credit-Control":[{"Granted-Service-Unit":{"CC-Total-Octets":5000},' +
        '"Rating-Group":10,"Result-Code":2001,"Volume-Quota-Threshold":1000},' +
        '{"Rating-Group":20,"Result-Code":4012}]}',
    ],
    [
      'codes',
      byCodes,
      '{"263":"pgw1;1;7","268":2001,"416":2,"456":[{"431":{"421":5000},"432":10,"268":2001,' +
        '"10415:869":1000},{"432":20,"268":4012}]}',
    ],
    [
      'pairs with named values',
      pairs,
      '[["Session-Id","pgw1;1;7"],["Result-Code","DIAMETER_SUCCESS"],' +
        '["CC-Request-Type","UPDATE_REQUEST"],["Multiple-Services-Credit-Control",' +
        '[["Granted-Service-Unit",[["CC-Total-Octets",5000]]],["Rating-Group",10],' +
        '["Result-Code","DIAMETER_SUCCESS"],["Volume-Quota-Threshold",1000]]],' +
        '["Multiple-Services-Credit-Control",[["Rating-Group",20],' +
        '["Result-Code","DIAMETER_CREDIT_LIMIT_REACHED"]]]]',
    ],
    [
      'pairs by codes',
      [
        [263, 'pgw1;1;7'],
        [456, []],
        [456, []],
      ],
      '[[263,"pgw1;1;7"],[268,2001],[416,2],[456,[[431,[[421,5000]]],[432,10],[268,2001],' +
        '["10415:869",1000]]],[456,[[432,20],[268,4012]]]]',
    ],
    [
      'entries',
      entries,
      '[{"code":263,"vendor":0,"value":"pgw1;1;7"},{"code":268,"vendor":0,"value":2001},' +
        '{"code":416,"vendor":0,"value":2},{"code":456,"vendor":0,"value":[' +
        '{"code":431,"vendor":0,"value":[{"code":421,"vendor":0,"value":5000}]},' +
        '{"code":432,"vendor":0,"value":10},{"code":268,"vendor":0,"value":2001},' +
        '{"code":869,"vendor":10415,"value":1000}]},{"code":456,"vendor":0,"value":[' +
        '{"code":432,"vendor":0,"value":20},{"code":268,"vendor":0,"value":4012}]}]',
    ],
    [
      'entries by name',
      [
        { avp: 'Session-Id', data: 'pgw1;1;7' },
        { avp: 'Multiple-Services-Credit-Control', avps: [] },
        { avp: 'Multiple-Services-Credit-Control', avps: [] },
      ],
      '[{"avp":"Session-Id","data":"pgw1;1;7"},{"avp":"Result-Code","data":2001},' +
        '{"avp":"CC-Request-Type","data":2},{"avp":"Multiple-Services-Credit-Control","avps":[' +
        '{"avp":"Granted-Service-Unit","avps":[{"avp":"CC-Total-Octets","data":5000}]},' +
        '{"avp":"Rating-Group","data":10},{"avp":"Result-Code","data":2001},' +
        '{"avp":"Volume-Quota-Threshold","data":1000}]},' +
        '{"avp":"Multiple-Services-Credit-Control","avps":[{"avp":"Rating-Group","data":20},' +
        '{"avp":"Result-Code","data":4012}]}]',
    ],
  ])('by %s', (_, body, expected) => {
    expect(encode(body)).toBe(expected)
  })

  it('with a list also for one service, and without a list for none', () => {
    const answer = answerTo({ 'Session-Id': 'a' })
    const entry = {}
    const one = {
      ...answer,
      echo: { ...answer.echo, entries: [entry] },
      outcome: { ...answer.outcome, services: [service(1, 'noCredit', 0)] },
    }
    const encoder = createDiameterEncoder(nodes)
    expect(encoder.encode(one, answer.form)).toContain(
      '"Multiple-Services-Credit-Control":[{"Rating-Group":1,"Result-Code":4012}]',
    )
    expect(encoder.encode(answer, null)).toBe(
      '{"Session-Id":"pgw1;1;7","Result-Code":2001,"CC-Request-Type":2}',
    )
  })

  it('with the envelope of an answer', () => {
    const flags = { request: true, proxiable: true, error: false, potentiallyRetransmitted: true }
    const header = {
      version: 1,
      length: 400,
      commandCode: 272,
      flags,
      hopByHopId: 7,
      endToEndId: 9,
    }
    const body = { header, body: [['Session-Id', 'a']], command: 'Credit-Control', _time: {} }
    const tree = [value('Rating-Group', 1)]
    expect(encode(body, tree)).toBe(
      '{"header":{"version":1,"commandCode":272,"flags":{"request":false,"proxiable":true,' +
        '"error":false,"potentiallyRetransmitted":false},"hopByHopId":7,"endToEndId":9},' +
        '"body":[["Rating-Group",1]],"command":"Credit-Control"}',
    )
    expect(encode(body, tree, 'overloaded')).toContain('"error":true')
    expect(encode({ command: 'CCR', flags: 0xd0, avps: {} }, tree)).toBe(
      '{"command":"CCA","flags":64,"avps":{"Rating-Group":1}}',
    )
    expect(encode({ 'Command-Flags': 0xc0, avps: {} }, tree, 'overloaded')).toContain(
      '"Command-Flags":96',
    )
  })
})

describe('values of an answer', () => {
  const written = (name: string, constant: AnswerValue, body: unknown = {}) =>
    encode(body, [value(name, constant)])

  it('are numbers if they are enumerated, unless the request has names', () => {
    expect(written('Final-Unit-Action', 'REDIRECT')).toBe('{"Final-Unit-Action":1}')
    expect(written('Final-Unit-Action', 1, { 'CC-Request-Type': 'EVENT_REQUEST' })).toBe(
      '{"Final-Unit-Action":"REDIRECT"}',
    )
    expect(written('Low-Balance-Indication', true)).toBe('{"Low-Balance-Indication":1}')
    expect(written('My-Own', true)).toBe('{"My-Own":true}')
  })

  it('are amounts of money with digits and exponent', () => {
    const amount = (digits: string) => written('Unit-Value', new NumberText(digits))
    expect(amount('1.25')).toBe('{"Unit-Value":{"Value-Digits":125,"Exponent":-2}}')
    expect(amount('-0.050')).toBe('{"Unit-Value":{"Value-Digits":-5,"Exponent":-2}}')
    expect(amount('300.00')).toBe('{"Unit-Value":{"Value-Digits":300}}')
    expect(amount('0')).toBe('{"Unit-Value":{"Value-Digits":0}}')
    expect(written('My-Own', new NumberText('1.10'))).toBe('{"My-Own":1.10}')
  })

  it('in a list repeat the AVP, and so do nodes with the same name', () => {
    expect(written('Filter-Id', ['a', 'b'])).toBe('{"Filter-Id":["a","b"]}')
    expect(written('Filter-Id', ['a'])).toBe('{"Filter-Id":"a"}')
    expect(written('Filter-Id', [])).toBe('{}')
    expect(written('Filter-Id', ['a', 'b'], [])).toBe('{"Filter-Id":["a","b"]}')
    expect(encode([['X', 1]], [value('11', 'a'), value('Filter-Id', 'b')])).toBe(
      '[["Filter-Id","a"],["Filter-Id","b"]]',
    )
  })

  it('are groups whose members have their dictionary names', () => {
    const group = { 'CC-Time': 60, digits: 'x",y' }
    expect(written('Used-Service-Unit', group, { '263': 'a' })).toBe(
      '{"446":{"420":60,"digits":"x\\",y"}}',
    )
    expect(written('Used-Service-Unit', Object.assign(Object.create(null), group))).toBe(
      '{"Used-Service-Unit":{"CC-Time":60,"digits":"x\\",y"}}',
    )
  })
})

describe('an error answer', () => {
  const error = (body: unknown, field: string, why: string, code = -20) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const { form } = diameterMessageParser.parse(Buffer.from(text))
    return createDiameterEncoder(nodes).encodeError({ field, why }, code, form)
  }

  it('repeats the AVPs that were read, and contains the reason', () => {
    expect(error(byNames, 'Rating-Group', 'must be a whole number')).toBe(
      '{"Session-Id":"pgw1;1;7","Result-Code":5004,"Auth-Application-Id":4,"CC-Request-Type":2,' +
        '"CC-Request-Number":3,"Error-Message":"Rating-Group must be a whole number"}',
    )
    expect(error(entries.slice(0, 1), 'CC-Request-Type', 'is required')).toBe(
      '[{"code":263,"vendor":0,"value":"pgw1;1;7"},{"code":268,"vendor":0,"value":5005},' +
        '{"code":258,"vendor":0,"value":4},' +
        '{"code":281,"vendor":0,"value":"CC-Request-Type is required"}]',
    )
  })

  it.each([
    ['body', 'is not JSON', -20, 5012],
    ['body', 'is not JSON', 5004, 5012],
    ['Session-Id', 'is required', -20, 5005],
    ['Session-Id', 'is required, and there is no default volume', 5004, 5005],
    ['Session-Id', 'must be a text', 5004, 5004],
    ['body', 'is not JSON', 5007, 5007],
    ['request', 'comes too often', 3004, 3004],
  ])('for %s %s (%i) has %i', (field, why, code, expected) => {
    expect(JSON.parse(error('{', field, why, code))).toMatchObject({ 'Result-Code': expected })
  })

  it('for an unknown form has the form of a plain request', () => {
    const encoder = createDiameterEncoder(nodes)
    expect(encoder.encodeError({ field: 'body', why: 'is too large' }, -20, null)).toBe(
      '{"Result-Code":5012,"Auth-Application-Id":4,"Error-Message":"body is too large"}',
    )
  })
})

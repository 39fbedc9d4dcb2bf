import { describe, expect, it } from 'vitest'
import { type AnswerValue, NumberText } from '../../../../src/file-types/file-type.ts'
import { AnswerBytes } from '../../../../src/realtime/codecs/diameter-wire/answer-bytes.ts'
import { type AvpRule, ruleByKey } from '../../../../src/realtime/codecs/diameter-wire/avp-rules.ts'
import { readAvps, type WireAvp } from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { writeValue } from '../../../../src/realtime/codecs/diameter-wire/write-values.ts'
import { recordOf } from '../../../support/realtime/codecs/diameter-wire/trees.ts'

function written(name: string, value: AnswerValue): WireAvp[] {
  const bytes = new AnswerBytes()
  bytes.begin()
  writeValue(bytes, ruleByKey(name) as AvpRule, value)
  return readAvps(bytes.end().subarray(20))
}

describe('a value of an answer', () => {
  it.each<[string, AnswerValue, string]>([
    ['Session-Id', 'a;1;Zürich', Buffer.from('a;1;Zürich').toString('hex')],
    ['Session-Id', 'x'.repeat(60), '78'.repeat(60)],
    ['Session-Id', 5, '35'],
    ['Session-Id', new NumberText('1.50'), '312e3530'],
    ['Result-Code', 2001, '000007d1'],
    ['Rating-Group', 4_294_967_295, 'ffffffff'],
    ['Rating-Group', '4294967295', 'ffffffff'],
    ['Rating-Group', new NumberText('7'), '00000007'],
    ['Validity-Time', true, '00000001'],
    ['CC-Total-Octets', 2 ** 53 - 1, '001fffffffffffff'],
    ['CC-Total-Octets', '18446744073709551615', 'ffffffffffffffff'],
    ['CC-Total-Octets', 0, '0000000000000000'],
    ['Value-Digits', -1, 'ffffffffffffffff'],
    ['Value-Digits', '-9223372036854775808', '8000000000000000'],
    ['Exponent', -2, 'fffffffe'],
    ['CC-Request-Type', 'UPDATE_REQUEST', '00000002'],
    ['Final-Unit-Action', 'REDIRECT', '00000001'],
    ['Event-Timestamp', 0, '83aa7e80'],
    ['Event-Timestamp', 2_085_978_496, '00000000'],
    ['Event-Timestamp', 2_208_988_800, '83aa7e80'],
    ['Event-Timestamp', 2 ** 32 + 5, '00000005'],
    ['3GPP-RAT-Type', '06', '06'],
    ['3GPP-RAT-Type', 'six', '736978'],
    ['SGSN-Address', '10.0.0.1', '00010a000001'],
    ['SGSN-Address', '2001:db8::1', '000220010db8000000000000000000000001'],
    ['SGSN-Address', '::ffff:10.0.0.1', '000200000000000000000000ffff0a000001'],
    ['3GPP-SGSN-Address', '10.0.0.1', '0a000001'],
    ['Framed-IP-Address', '10.0.0.1', '0a000001'],
  ])('%s of %j is written as %s', (name, value, hex) => {
    const [avp, ...others] = written(name, value)
    expect(avp?.data.toString('hex')).toBe(hex)
    expect(others).toEqual([])
    const rule = ruleByKey(name) as AvpRule
    expect(avp).toMatchObject({ code: rule.code, vendor: rule.vendor, flags: rule.flags })
  })

  it('is repeated for a list, and has the AVPs of a record by their names', () => {
    expect(written('Rating-Group', [1, 2]).map(({ data }) => data.readUInt32BE())).toEqual([1, 2])
    const group = { 'CC-Time': 5, nonsense: 6, 'CC-Money': { 'Currency-Code': 978 } }
    expect(recordOf(written('Granted-Service-Unit', group))).toEqual({
      'Granted-Service-Unit': { 'CC-Time': 5, 'CC-Money': { 'Currency-Code': 978 } },
    })
  })

  it.each<[AnswerValue, object]>([
    [new NumberText('19.990'), { 'Value-Digits': 1999, Exponent: -2 }],
    [new NumberText('-0.05'), { 'Value-Digits': -5, Exponent: -2 }],
    [new NumberText('12'), { 'Value-Digits': 12 }],
    [7, { 'Value-Digits': 7 }],
    ['0.5', { 'Value-Digits': 5, Exponent: -1 }],
  ])('that is money has digits and exponent: %j', (value, unitValue) => {
    expect(recordOf(written('Unit-Value', value))).toEqual({ 'Unit-Value': unitValue })
  })

  it.each<[string, AnswerValue]>([
    ['Rating-Group', -1],
    ['Rating-Group', 2 ** 32],
    ['Rating-Group', 1.5],
    ['Rating-Group', 'ten'],
    ['Rating-Group', new NumberText('1.5')],
    ['Rating-Group', '99999999999999999999'],
    ['Exponent', 2 ** 31],
    ['CC-Total-Octets', -1],
    ['CC-Total-Octets', '18446744073709551616'],
    ['Value-Digits', '9223372036854775808'],
    ['Event-Timestamp', 1.5],
    ['Event-Timestamp', 'noon'],
    ['SGSN-Address', 'here'],
    ['SGSN-Address', '10.0.0.256'],
    ['SGSN-Address', '10.0.0'],
    ['SGSN-Address', '1:2:3:4:5:6:7'],
    ['SGSN-Address', '1:2:3:4:5:6:7:8:9'],
    ['SGSN-Address', '1::2::3'],
    ['SGSN-Address', '1:2:3:4::5:6:7:8'],
    ['SGSN-Address', 'fe80::1%eth0'],
    ['SGSN-Address', '::10.0.0.1:1'],
    ['Unit-Value', 'much'],
    ['Granted-Service-Unit', 5],
    ['Result-Code', { 'Rating-Group': 1 }],
  ])('that does not fit %s is refused by name: %j', (name, value) => {
    expect(() => written(name, value)).toThrow(new RegExp(`^${name} cannot be `))
  })

  it('may be longer than the buffer, which grows', () => {
    const bytes = new AnswerBytes()
    bytes.begin()
    const rule = ruleByKey('Error-Message') as AvpRule
    for (let count = 0; count < 100; count += 1) bytes.text(rule, 'é'.repeat(count))
    const avps = readAvps(bytes.end().subarray(20))
    expect(avps.map(({ data }) => data.length)).toEqual(avps.map((_, count) => count * 2))
    expect(avps).toHaveLength(100)
  })
})

import { describe, expect, it } from 'vitest'
import { avpByCode, avpByKey } from '../../../../src/realtime/codecs/diameter/dictionary.ts'

describe('the dictionary of AVPs', () => {
  it.each([
    ['Session-Id', 263, 0, 'OctetString'],
    ['Event-Timestamp', 55, 0, 'Time'],
    ['Subscription-Id', 443, 0, 'Grouped'],
    ['Subscription-Id-Type', 450, 0, 'Unsigned32'],
    ['Subscription-Id-Data', 444, 0, 'OctetString'],
    ['Multiple-Services-Credit-Control', 456, 0, 'Grouped'],
    ['Granted-Service-Unit', 431, 0, 'Grouped'],
    ['Requested-Service-Unit', 437, 0, 'Grouped'],
    ['Used-Service-Unit', 446, 0, 'Grouped'],
    ['CC-Time', 420, 0, 'Unsigned32'],
    ['CC-Total-Octets', 421, 0, 'Unsigned64'],
    ['CC-Service-Specific-Units', 417, 0, 'Unsigned64'],
    ['Rating-Group', 432, 0, 'Unsigned32'],
    ['Service-Identifier', 439, 0, 'Unsigned32'],
    ['Validity-Time', 448, 0, 'Unsigned32'],
    ['Final-Unit-Indication', 430, 0, 'Grouped'],
    ['Restriction-Filter-Rule', 438, 0, 'OctetString'],
    ['Redirect-Server', 434, 0, 'Grouped'],
    ['QoS-Final-Unit-Indication', 669, 0, 'Grouped'],
    ['Cost-Information', 423, 0, 'Grouped'],
    ['Value-Digits', 447, 0, 'Integer64'],
    ['Failed-AVP', 279, 0, 'Grouped'],
    ['Quota-Holding-Time', 871, 10415, 'Unsigned32'],
    ['Volume-Quota-Threshold', 869, 10415, 'Unsigned32'],
    ['Time-Quota-Threshold', 868, 10415, 'Unsigned32'],
    ['Service-Information', 873, 10415, 'Grouped'],
    ['QoS-Information', 1016, 10415, 'Grouped'],
    ['Recipient-Info', 2026, 10415, 'Grouped'],
    ['Recipient-Address', 1201, 10415, 'Grouped'],
    ['SDP-Media-Component', 843, 10415, 'Grouped'],
    ['IMS-Emergency-Indicator', 2322, 10415, 'Integer32'],
    ['Transit-IOI-List', 2701, 10415, 'OctetString'],
    ['ProSe-Information', 3447, 10415, 'Grouped'],
    ['Related-Trigger', 3926, 10415, 'Grouped'],
    ['CPDT-Information', 3927, 10415, 'Grouped'],
    ['OC-Supported-Features', 621, 0, 'Grouped'],
    ['3GPP-TWAN-Identifier', 29, 10415, 'OctetString'],
    ['MBMS-Data-Transfer-Stop', 930, 10415, 'Unsigned64'],
    ['Credit-Management-Status', 1082, 10415, 'Unsigned32'],
    ['Start-of-Charging', 3419, 10415, 'Time'],
    ['Unused-Quota-Timer', 4407, 10415, 'Unsigned32'],
  ])('has %s with code %i of vendor %i as %s', (name, code, vendor, type) => {
    const avp = avpByKey(name)
    expect(avp).toMatchObject({ name, code, vendor, type })
    expect(avpByCode(code, vendor)).toBe(avp)
    expect(avpByKey(`${vendor}:${code}`)).toBe(avp)
    expect(avpByKey(avp?.codeText ?? '')).toBe(avp)
    expect(avp?.codeText).toBe(vendor === 0 ? String(code) : `${vendor}:${code}`)
  })

  it.each([
    ['QoS-Information', { 515: 'Unsigned32', 516: 'Unsigned32', 554: 'Unsigned32' }],
    ['AF-Correlation-Information', { 505: 'OctetString', 509: 'Unsigned32', 510: 'Grouped' }],
    ['SDP-Media-Component', { 501: 'IPAddress', 503: 'OctetString' }],
    ['Service-Data-Container', { 531: 'OctetString', 532: 'OctetString' }],
    ['IMS-Information', { 602: 'OctetString', 603: 'Grouped', 604: 'Unsigned32' }],
    ['PS-Information', { 4310: 'Grouped', 4311: 'Unsigned32', 4318: 'Grouped', 4320: 'Time' }],
  ])('has the members of %s from other specifications', (_group, members) => {
    for (const [code, type] of Object.entries(members)) {
      expect(avpByCode(Number(code), 10415)?.type, code).toBe(type)
    }
  })

  it('names an AVP by its code if another AVP has the name', () => {
    expect(avpByCode(553, 193)).toMatchObject({ name: '193:553', type: 'Grouped' })
    expect(avpByCode(610, 193)?.name).toBe('193:610')
    expect(avpByCode(1108, 10415)?.name).toBe('10415:1108')
  })

  it('accepts the spelling of the package, too', () => {
    expect(avpByKey('Restricted-Filter-Rule')?.name).toBe('Restriction-Filter-Rule')
    expect(avpByKey('Destination-Interface')?.code).toBe(2002)
    expect(avpByKey('SDP-Media-components')?.name).toBe('SDP-Media-Component')
  })

  it('maps named values in both directions', () => {
    const type = avpByKey('CC-Request-Type')
    expect(type?.values?.get('TERMINATION_REQUEST')).toBe(3)
    expect(type?.valueNames?.get(4)).toBe('EVENT_REQUEST')
    expect(avpByKey('Subscription-Id-Type')?.values?.get('END_USER_IMSI')).toBe(1)
    expect(avpByKey('Result-Code')?.valueNames?.get(4012)).toBe('DIAMETER_CREDIT_LIMIT_REACHED')
    expect(avpByKey('Session-Id')?.values).toBeNull()
  })

  it('contains no undefined AVPs and no inherited names', () => {
    for (const key of ['', '4294967295', '10415:263', 'session-id', 'toString', '__proto__']) {
      expect(avpByKey(key)).toBeUndefined()
    }
    expect(avpByCode(263, 10415)).toBeUndefined()
  })

  it('has one AVP for every name and code', () => {
    for (let code = 0; code < 5000; code += 1) {
      for (const vendor of [0, 193, 10415]) {
        const avp = avpByCode(code, vendor)
        if (avp === undefined) continue
        expect(avpByKey(avp.name)).toBe(avp)
        expect(avp).toMatchObject({ code, vendor })
      }
    }
  })
})

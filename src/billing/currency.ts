/** The smallest unit of currencies. */

/** Currencies without two decimals, by numeric code (ISO 4217). */
const DIGITS: Readonly<Record<number, number>> = {
  108: 0, // BIF
  152: 0, // CLP
  174: 0, // KMF
  262: 0, // DJF
  324: 0, // GNF
  352: 0, // ISK
  392: 0, // JPY
  410: 0, // KRW
  548: 0, // VUV
  600: 0, // PYG
  646: 0, // RWF
  704: 0, // VND
  800: 0, // UGX
  940: 0, // UYI
  950: 0, // XAF
  952: 0, // XOF
  953: 0, // XPF
  48: 3, // BHD
  368: 3, // IQD
  400: 3, // JOD
  414: 3, // KWD
  434: 3, // LYD
  512: 3, // OMR
  788: 3, // TND
  927: 4, // UYW
  990: 4, // CLF
}

/** Decimals of the smallest unit of a currency. */
export function currencyDigits(numericCode: number): number {
  return DIGITS[numericCode] ?? 2
}

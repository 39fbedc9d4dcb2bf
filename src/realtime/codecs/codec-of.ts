import type {
  EncoderSettings,
  FileType,
  ParserSettings,
  ResponseNode,
} from '../../catalog/file-types/file-type.ts'
import type { Codec } from './codec.ts'
import { createJsonEncoder } from './encode-json.ts'
import type { AnswerEncoder, MessageParser } from './encoder.ts'
import { jsonMessageParser } from './json-message.ts'
import { createMappedCodec, type MappedEnvelope } from './mapped.ts'

/** The dialect of a file type, with the parser and the encoder that its document names. */
export function codecOf(fileType: FileType): Codec<MappedEnvelope> {
  const { encoder, parser, response } = fileType
  return createMappedCodec(fileType, parserOf(parser), encoderOf(encoder, response))
}

function parserOf(settings: ParserSettings): MessageParser {
  switch (settings.type) {
    case 'json':
      return jsonMessageParser
    default:
      throw new Error(`there is no parser of ${settings.type} messages`)
  }
}

function encoderOf(settings: EncoderSettings, nodes: readonly ResponseNode[]): AnswerEncoder {
  switch (settings.type) {
    case 'json':
      return createJsonEncoder(nodes)
    default:
      throw new Error(`there is no encoder of ${settings.type} answers`)
  }
}

/** The ceiling of the HTTP side: the same server, which parses the body and answers immediately. */
import * as uWS from 'uWebSockets.js'

const answer =
  '{"status":1,"returnCode":1,"desc":"Success","requestNum":1,"grantedVolume":10485760}'

uWS
  .App()
  .post('/realtime', (response) => {
    let parts: Buffer[] = []
    response.onAborted(() => {
      parts = []
    })
    response.onData((chunk, isLast) => {
      parts.push(Buffer.from(chunk))
      if (!isLast) return
      JSON.parse(Buffer.concat(parts).toString())
      response.cork(() => {
        response.writeHeader('Content-Type', 'application/json').end(answer)
      })
    })
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) process.exit(1)
    process.send?.({ port: uWS.us_socket_local_port(socket) })
  })

process.on('disconnect', () => process.exit(0))

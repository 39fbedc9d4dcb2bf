import { open } from 'lmdb'
import { rmSync } from 'node:fs'
const mode=process.argv[2]
rmSync('/tmp/lmdbp2',{recursive:true,force:true})
const root = open({ path:'/tmp/lmdbp2', noSubdir:false, maxDbs:8, keyEncoding:'binary', encoding:'binary', overlappingSync:false, ...(mode.includes('s')?{mapSize:2**36}:{}) })
const docs = root.openDB({name:'docs',keyEncoding:'binary', encoding:'binary'})
const k=(a,b)=>{const x=Buffer.alloc(10);x.writeUInt32BE(a);x.writeUIntBE(b,4,6);return x}
root.transactionSync(()=>{for(let i=0;i<10;i++)docs.put(k(1,i),Buffer.from('v'+i))})
let e,g
if(mode.includes('r')) e=[...docs.getRange({start:k(1,2),end:k(1,5)})]
if(mode.includes('c')) root.transactionSync(()=>{ docs.put(k(3,1),Buffer.from('a'));try { root.transactionSync(()=>{docs.put(k(3,2),Buffer.from('b')); throw new Error('child')}) } catch(e){} ; if(mode.includes('d')) [...docs.getRange({start:k(3,0),end:k(4,0)})] })
const big=Buffer.alloc(16*1024*1024,1)
if(mode.includes('G')) for(let n=0;n<4;n++) root.transactionSync(()=>{for(let i=0;i<8;i++)docs.put(k(6,n*8+i),big)})
if(mode.includes('p')) root.transactionSync(()=>{for(let i=0;i<100000;i++)docs.put(k(7,i),Buffer.alloc(300,i))})
let c=0
if(mode.includes('f')) for(const x of docs.getRange({start:k(7,0),end:k(8,0)})) c+=x.value.length
if(mode.includes('i')) for(let i=0;i<100000;i++) c+=docs.get(k(7,i)).length
if(mode.includes('t')) root.getStats()
await root.close(); console.log('closed')

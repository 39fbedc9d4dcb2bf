/**
 * AVPs of releases later than the package `diameter`, by type: of charging (3GPP TS 32.299 section
 * 7.2), and those that its groups include from TS 29.061, 29.128, 29.212, 29.214, 29.229, 29.329
 * and 32.251. An unknown mandatory AVP would cause the whole message to be refused.
 */
import { type AvpEntry, type AvpKind, entryOf } from './avp-entry.ts'

type Names = Readonly<Partial<Record<AvpKind, string>>>

const OF_IETF: Names = {
  OctetString: '493 Service-Selection, 620 Redirect-Realm, 649 SourceID',
  Unsigned32: '625 OC-Validity-Duration, 627 OC-Reduction-Percentage',
  Unsigned64: `
    622 OC-Feature-Vector, 624 OC-Sequence-Number, 648 OC-Peer-Algo, 652 Load-Value`,
  Integer32: '626 OC-Report-Type, 651 Load-Type',
  Grouped: '621 OC-Supported-Features, 623 OC-OLR, 650 Load',
}

const OF_3GPP: Names = {
  OctetString: `
    504 AF-Application-Identifier, 505 AF-Charging-Identifier, 507 Flow-Description,
    524 Codec-Data, 525 Service-URN, 531 Sponsor-Identity,
    532 Application-Service-Provider-Identity, 601 Public-Identity, 602 Server-Name,
    856 Associated-URI, 857 Charged-Party, 901 Required-MBMS-Bearer-Capabilities,
    905 Alternative-APN, 909 RAI, 913 MBMS-Required-QoS, 1088 TDF-Application-Identifier,
    1089 TDF-Destination-Host, 1090 TDF-Destination-Realm, 1095 ADC-Rule-Base-Name,
    1096 ADC-Rule-Name, 1305 Civic-Address-Information, 1307 WLAN-Operator-Name,
    1308 WLAN-PLMN-Id, 1309 API-Content, 1311 API-Identifier, 2701 Transit-IOI-List,
    2708 From-Address, 2711 Related-IMS-Charging-Identifier, 2713 IMS-Visited-Network-Identifier,
    2716 BSSID, 2802 TDF-Application-Instance-Identifier, 2807 CS-Service-QoS-Request-Identifier,
    2817 Default-QoS-Name, 2836 Traffic-Steering-Policy-Identifier-DL,
    2837 Traffic-Steering-Policy-Identifier-UL, 3426 Announcing-UE-HPLMN-Identifier,
    3427 Announcing-UE-VPLMN-Identifier, 3430 Monitored-PLMN-Identifier,
    3431 Monitoring-UE-HPLMN-Identifier, 3432 Monitoring-UE-Identifier,
    3433 Monitoring-UE-VPLMN-Identifier, 3436 Requested-PLMN-Identifier,
    3437 Requestor-PLMN-Identifier, 3440 ProSe-3rd-Party-Application-ID,
    3457 ProSe-Function-PLMN-Identifier, 3910 Variable-Part-Value, 3914 Language,
    3916 Called-Identity, 3924 Cellular-Network-Information, 3942 SCS-Realm,
    4402 Discoveree-UE-HPLMN-Identifier, 4403 Discoveree-UE-VPLMN-Identifier,
    4404 Discoverer-UE-HPLMN-Identifier, 4405 Discoverer-UE-VPLMN-Identifier,
    4408 Announcing-PLMN-ID, 4413 FE-Identifier-List`,
  Binary: `
    29 3GPP-TWAN-Identifier, 503 Access-Network-Charging-Identifier-Value, 701 MSISDN, 900 TMGI,
    903 MBMS-Service-Area, 904 MBMS-Session-Duration, 908 MBMS-Session-Identity,
    910 Additional-MBMS-Trace-Info, 911 MBMS-Time-To-Data-Transfer,
    912 MBMS-Session-Repetition-Number, 916 MBMS-GGSN-Address, 917 MBMS-GGSN-IPv6-Address,
    918 MBMS-BMSC-SSM-IP-Address, 919 MBMS-BMSC-SSM-IPv6-Address, 920 MBMS-Flow-Identifier,
    925 MBMS-GW-SSM-IPv6-Address, 926 MBMS-BMSC-SSM-UDP-Port, 927 MBMS-GW-UDP-Port,
    934 MBMS-Cell-List, 1304 Secondary-RAT-Type, 2819 RAN-NAS-Release-Cause, 2852 Max-PLR-DL,
    2853 Max-PLR-UL, 3412 Bearer-Capability, 3413 Teleservice, 3414 ISUP-Location-Number,
    3417 MSC-Address, 3418 Network-Call-Reference-Number, 3420 VLR-Number,
    3422 ISUP-Cause-Diagnostics, 3423 ISUP-Cause-Location, 3429 Layer-2-Group-ID,
    3453 ProSe-UE-ID, 3458 Application-Specific-Data, 3462 Radio-Frequency,
    3464 Radio-Parameter-Set-Values, 4409 ProSe-UE-to-Network-Relay-UE-ID,
    4410 ProSe-Target-Layer-2-ID`,
  Unsigned32: `
    509 Flow-Number, 515 Max-Requested-Bandwidth-DL, 516 Max-Requested-Bandwidth-UL,
    518 Media-Component-Number, 521 RR-Bandwidth, 522 RS-Bandwidth, 534 Min-Requested-Bandwidth-DL,
    535 Min-Requested-Bandwidth-UL, 554 Extended-Max-Requested-BW-DL,
    555 Extended-Max-Requested-BW-UL, 604 Mandatory-Capability, 605 Optional-Capability,
    629 Feature-List-ID, 630 Feature-List, 931 MBMS-Flags, 932 Restart-Counter, 933 Diagnostic-Info,
    1313 API-Result-Code, 2806 UDP-Source-Port, 2828 Monitoring-Flags, 2832 RAN-Rule-Support,
    2833 Access-Availability-Change-Reason, 2834 Routing-Rule-Failure-Code, 2838 Request-Type,
    2848 Extended-APN-AMBR-DL, 2849 Extended-APN-AMBR-UL, 2850 Extended-GBR-DL,
    2851 Extended-GBR-UL, 2854 UE-Status, 3408 SM-Sequence-Number, 3409 SMS-Result,
    3424 ISUP-Cause-Value, 3905 Announcement-Identifier, 3906 Announcement-Order,
    3908 Variable-Part-Order, 3909 Variable-Part-Type, 3911 Time-Indicator,
    3923 Monitoring-Event-Report-Number, 3937 Rate-Control-Max-Message-Size,
    3938 Rate-Control-Max-Rate, 3939 Rate-Control-Time-Unit, 4311 Uplink-Rate-Limit,
    4312 Downlink-Rate-Limit, 4319 Counter-Value, 4407 Unused-Quota-Timer`,
  Unsigned64: `
    552 Content-Version, 929 MBMS-Data-Transfer-Start, 930 MBMS-Data-Transfer-Stop, 1314 API-Size`,
  Integer32: `
    511 Flow-Status, 512 Flow-Usage, 520 Media-Type, 529 AF-Signalling-Protocol,
    902 MBMS-StartStop-Indication, 906 MBMS-Service-Type, 907 MBMS-2G-3G-Indicator,
    914 MBMS-Counting-Information, 915 MBMS-User-Data-Mode-Indication,
    921 CN-IP-Multicast-Distribution, 922 MBMS-HC-Indicator, 923 MBMS-Access-Indicator,
    928 MBMS-GW-UDP-Port-Indicator, 1086 Redirect-Support, 1310 API-Direction,
    1315 API-Network-Service-Node, 2322 IMS-Emergency-Indicator, 2702 Status-AS-Code, 2704 NNI-Type,
    2706 Relationship-Mode, 2707 Session-Direction, 2710 Access-Transfer-Type, 2717 TAD-Identifier,
    2808 CS-Service-QoS-Request-Operation, 2809 Mute-Notification, 2811 AN-GW-Status,
    2814 CS-Service-Resource-Failure-Cause, 2815 CS-Service-Resource-Result-Operation,
    2824 NetLoc-Access-Support, 2826 PCSCF-Restoration-Indication,
    2827 IP-CAN-Session-Charging-Scope, 2829 Default-Access, 2830 NBIFOM-Mode, 2831 NBIFOM-Support,
    2841 Resource-Release-Notification, 2842 Removal-Of-Access, 2844 Default-Bearer-Indication,
    2847 3GPP-PS-Data-Off-Status-Gx, 2855 Presence-Reporting-Area-Node,
    3407 SM-Device-Trigger-Indicator, 3415 Forwarding-Pending, 3421 CN-Operator-Selection-Entity,
    3428 Coverage-Status, 3434 PC3-Control-Protocol-Cause, 3435 PC3-EPC-Control-Protocol-Cause,
    3438 Role-Of-ProSe-Function, 3439 Usage-Information-Report-Sequence-Number,
    3442 ProSe-Direct-Discovery-Model, 3443 ProSe-Event-Type, 3445 ProSe-Functionality,
    3448 ProSe-Range-Class, 3449 ProSe-Reason-For-Cancellation, 3451 ProSe-Role-Of-UE,
    3454 Proximity-Alert-Indication, 3465 Radio-Resources-Indicator, 3902 Inter-UE-Transfer,
    3912 Quota-Indicator, 3913 Play-Alternative, 3915 Privacy-Indicator,
    3919 Monitoring-Event-Configuration-Activity, 3922 Monitoring-Event-Functionality,
    3930 CP-CIoT-EPS-Optimisation-Indicator, 3931 SGi-PtP-Tunnelling-Method,
    3932 UNI-PDU-CP-Only-Flag, 3936 Additional-Exception-Reports,
    4400 Charging-Per-IP-CAN-Session-Indicator, 4406 3GPP-PS-Data-Off-Status`,
  Time: `
    1301 RAN-End-Timestamp, 1303 RAN-Start-Timestamp, 1312 API-Invocation-Timestamp,
    2810 Monitoring-Time, 2839 Execution-Time, 3419 Start-of-Charging, 3450 ProSe-Request-Timestamp,
    3455 Proximity-Alert-Timestamp, 3456 Proximity-Cancellation-Timestamp,
    3466 Time-First-Reception, 3467 Time-First-Transmission, 4320 RRC-Counter-Timestamp`,
  IPAddress: `
    501 Access-Network-Charging-Address, 924 MBMS-GW-SSM-IP-Address, 1091 TDF-IP-Address,
    2705 Neighbour-Node-Address, 2712 Related-IMS-Charging-Identifier-Node,
    2804 HeNB-Local-IP-Address, 2805 UE-Local-IP-Address, 3444 ProSe-Function-IP-Address,
    3446 ProSe-Group-IP-Multicast-Address, 3452 ProSe-Source-IP-Address, 3903 TWAG-Address,
    3941 SCS-Address, 4411 Relay-IP-address, 4412 Target-IP-Address`,
  Grouped: `
    502 Access-Network-Charging-Identifier, 510 Flows, 603 Server-Capabilities,
    628 Supported-Features, 1085 Redirect-Information, 1087 TDF-Information, 1092 ADC-Rule-Install,
    1093 ADC-Rule-Remove, 1094 ADC-Rule-Definition, 1097 ADC-Rule-Report,
    1098 Application-Detection-Information, 1302 RAN-Secondary-RAT-Usage-Report,
    1306 WLAN-Operator-Id, 1316 Exposure-Function-API-Information, 2703 NNI-Information,
    2709 Access-Transfer-Information, 2714 TWAN-User-Location-Info, 2813 CS-Service-Resource-Report,
    2816 Default-QoS-Information, 2818 Conditional-APN-Aggregate-Max-Bitrate,
    2825 Fixed-User-Location-Info, 2835 Routing-Rule-Report, 2840 Conditional-Policy-Information,
    2845 PRA-Install, 2846 PRA-Remove, 3410 VCS-Information, 3411 Basic-Service-Code,
    3416 ISUP-Release-Cause, 3441 ProSe-Direct-Communication-Transmission-Data-Container,
    3447 ProSe-Information, 3459 Coverage-Info, 3460 Location-Info,
    3461 ProSe-Direct-Communication-Reception-Data-Container, 3463 Radio-Parameter-Set-Info,
    3468 Transmitter-Info, 3901 Enhanced-Diagnostics, 3907 Variable-Part,
    3917 Called-Identity-Change, 3918 UWAN-User-Location-Info, 3920 Monitoring-Event-Report-Data,
    3921 Monitoring-Event-Information, 3925 Related-Change-Condition-Information,
    3926 Related-Trigger, 3927 CPDT-Information, 3928 NIDD-Submission, 3933 APN-Rate-Control,
    3934 APN-Rate-Control-Downlink, 3935 APN-Rate-Control-Uplink, 3940 SCS-AS-Address,
    4310 Serving-PLMN-Rate-Control, 4318 RRC-Cause-Counter, 4401 Access-Network-Info-Change`,
}

export const laterAvps: readonly AvpEntry[] = [
  ...entriesOf(OF_IETF, 0, false),
  ...entriesOf(OF_3GPP, 10415, true),
]

function entriesOf(names: Names, vendorId: number, mandatory: boolean): AvpEntry[] {
  return Object.entries(names).flatMap(([kind, list]) =>
    list.split(',').map((entry) => {
      const [code, name = ''] = entry.trim().split(' ')
      return entryOf(Number(code), name, vendorId, kind as AvpKind, mandatory)
    }),
  )
}
